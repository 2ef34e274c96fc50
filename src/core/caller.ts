/** The caller of a call, as identified by the sidecar's access keys. */
export interface Caller {
  /** Name of the access key of the call, which owns everything that the call stores. Empty if there are no keys. */
  readonly name: string;
  /** Whether the caller may use a model of a provider. The names are those after aliases were resolved. */
  allowsModel(provider: string, model: string): boolean;
  /** Whether any model is forbidden to the caller. */
  readonly isRestricted: boolean;
}

/** The anonymous caller if there are no access keys, who may use everything. */
export const anyCaller: Caller = { name: "", allowsModel: () => true, isRestricted: false };
