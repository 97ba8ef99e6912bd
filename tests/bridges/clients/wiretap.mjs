// Reads answers as they came in, before the SDK's schemas remove or refuse what they do not know.

export class Wiretap {
  waiting = [];
  expected = new Map();

  constructor(transport) {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const at = this.waiting.findIndex(({ method }) => method === message.method);
      if (at >= 0) this.expected.set(message.id, this.waiting.splice(at, 1)[0]);
      return send(message, options);
    };
    this.transport = transport;
  }

  /** Listens to what comes in; to be called once the client has put its own listener there. */
  attach() {
    const deliver = this.transport.onmessage;
    this.transport.onmessage = (message, extra) => {
      const waiter = 'method' in message ? undefined : this.expected.get(message.id);
      if (waiter) {
        this.expected.delete(message.id);
        if (message.error) waiter.reject(message.error);
        else waiter.resolve(message.result);
      }
      deliver(message, extra);
    };
  }

  /** The raw answer to the next request of this method. */
  next(method) {
    return new Promise((resolve, reject) => this.waiting.push({ method, resolve, reject }));
  }
}
