/** A delta and its padding together have this length, or a multiple. */
const block = 16;

const noise = "kV3xQ9mZ1tRbW7yLcN5uHsD2pJfA8gXeT4oKqYiUz6rMvBhSnCwGlEjPdOaFI0";

/** Returns the padding of a delta, as a field for its event; no field if padding is off. */
export type Obfuscator = (delta: string) => { readonly obfuscation?: string };

/** Creates a function that pads deltas. Its noise is the same in each stream. */
export function createObfuscator(isOn: boolean): Obfuscator {
  let offset = 0;
  return (delta) => {
    if (!isOn) return {};
    const length = (block - (delta.length % block)) % block;
    offset = (offset + length + 1) % (noise.length - block);
    return { obfuscation: noise.slice(offset, offset + length) };
  };
}
