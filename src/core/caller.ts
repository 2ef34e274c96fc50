/** Whom a call is for, as the sidecar's access keys tell it. */
export interface Caller {
  /** Name of the access key that the call came with: the owner of what the call makes. Empty where there are no keys. */
  readonly name: string;
  /** Whether the caller may use a model of a provider, by the names that the call has after aliases were resolved. */
  allowsModel(provider: string, model: string): boolean;
  /** Whether there is a model that the caller may not use. */
  readonly isRestricted: boolean;
}

/** The caller where there are no access keys: nobody in particular, who may use everything. */
export const anyCaller: Caller = { name: "", allowsModel: () => true, isRestricted: false };
