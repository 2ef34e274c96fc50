/** The part of a browser's XMLHttpRequest that Google's gRPC-Web client uses, by Node's fetch. Text only, as there. */
export class FetchingXmlHttpRequest {
  readyState = 0;
  status = 0;
  responseText = "";
  onreadystatechange: (() => void) | null = null;
  readonly #headers = new Headers();
  readonly #controller = new AbortController();
  #url = "";
  #received: Headers | undefined;

  open(_method: "POST", url: string): void {
    this.#url = url;
    this.#become(1);
  }

  setRequestHeader(name: string, value: string): void {
    this.#headers.set(name, value);
  }

  getResponseHeader(name: string): string | null {
    return this.#received?.get(name) ?? null;
  }

  getAllResponseHeaders(): string {
    return [...(this.#received ?? [])].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  }

  send(body: string): void {
    void this.#exchange(body).catch(() => this.#become(4));
  }

  abort(): void {
    this.#controller.abort();
  }

  async #exchange(body: string): Promise<void> {
    const { signal } = this.#controller;
    const response = await fetch(this.#url, { method: "POST", headers: this.#headers, body, signal });
    this.status = response.status;
    this.#received = response.headers;
    this.#become(2);
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      this.responseText += decoder.decode(chunk, { stream: true });
      this.#become(3);
    }
    this.#become(4);
  }

  #become(state: number): void {
    this.readyState = state;
    this.onreadystatechange?.();
  }
}
