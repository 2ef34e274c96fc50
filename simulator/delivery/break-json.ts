/** Cuts the JSON of a server-sent event in the middle, and keeps the event's frame. */
export function breakJson(event: string): string {
  const start = event.indexOf("data: ") + "data: ".length;
  const end = event.trimEnd().length;
  return `${event.slice(0, start + Math.ceil((end - start) / 2))}${event.slice(end)}`;
}
