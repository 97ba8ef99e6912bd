// Events of one session in the order they were sent, so that a client can come back for the rest.

export class EventLog {
  #events = [];

  async storeEvent(stream, message) {
    const id = `${stream}/${this.#events.length}`;
    this.#events.push({ id, stream, message });
    return id;
  }

  async getStreamIdForEventId(id) {
    return this.#events.find((event) => event.id === id)?.stream;
  }

  async replayEventsAfter(lastId, { send }) {
    const last = this.#events.findIndex((event) => event.id === lastId);
    if (last < 0) throw new Error(`no event ${lastId}`);
    const { stream } = this.#events[last];
    for (const event of this.#events.slice(last + 1)) {
      // The priming event of a stream has no message to repeat.
      const isMessage = event.message?.jsonrpc !== undefined;
      if (event.stream === stream && isMessage) await send(event.id, event.message);
    }
    return stream;
  }
}
