// A person with a browser: follows pages, keeps cookies, signs in, consents, and enters codes.

export class Browser {
  #cookies = new Map();

  constructor(account) {
    this.account = account;
  }

  /** Goes through every page and gives the last one's text. */
  async walk(start) {
    let url = start;
    let form;
    for (let step = 0; step < 20; step += 1) {
      const response = await this.#fetch(url, form);
      form = undefined;
      const place = response.headers.get('location');
      if (place) {
        url = new URL(place, url).href;
        continue;
      }
      const page = await response.text();
      const next = this.#fill(page);
      if (!next) return page;
      url = new URL(next.action, url).href;
      form = next.fields;
    }
    throw new Error(`the pages never end: ${url}`);
  }

  async #fetch(url, form) {
    const { origin } = new URL(url);
    const jar = this.#cookies.get(origin) ?? new Map();
    this.#cookies.set(origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      redirect: 'manual',
      method: form ? 'POST' : 'GET',
      headers: cookie ? { cookie } : {},
      body: form,
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  // The first form of a page with what this person would enter.
  #fill(page) {
    const found = /<form[^>]*action="([^"]+)"[^>]*>([\s\S]*?)<\/form>/.exec(page);
    if (!found) return undefined;
    const fields = new URLSearchParams();
    for (const [input] of found[2].matchAll(/<(?:input|button)[^>]*>/g)) {
      const part = (name) => new RegExp(`${name}="([^"]*)"`).exec(input)?.[1];
      if (part('name') && part('name') !== 'abort') fields.set(part('name'), part('value') ?? '');
    }
    if (fields.has('login')) fields.set('login', this.account);
    if (fields.has('password')) fields.set('password', 'any');
    return { action: found[1].replaceAll('&amp;', '&'), fields };
  }
}
