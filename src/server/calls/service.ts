import type { DescService } from "@bufbuild/protobuf";
import { createServiceImplSpec, type MethodImplSpec, type ServiceImpl } from "@connectrpc/connect";

/** A service that a server offers over all its protocols. */
export interface Service {
  readonly desc: DescService;
  /** All methods. Those without an implementation answer UNIMPLEMENTED. */
  readonly methods: readonly MethodImplSpec[];
  /** Whether `grpc.health.v1` reports on it by its name. */
  readonly isInHealth: boolean;
  /** Whether it answers without an access key. */
  readonly isOpen: boolean;
  /**
   * Ends all calls in progress with an error when the server stops. Absent if calls are short, or end on their own.
   */
  readonly abortCalls?: (() => void) | undefined;
}

/** Settings of a service. */
export interface ServiceSettings {
  /** Default true. */
  readonly isInHealth?: boolean;
  /** Default false. */
  readonly isOpen?: boolean;
  /** See Service. */
  readonly abortCalls?: () => void;
}

/**
 * Combines a service with its implementation. A streaming method may return a `Batched` stream: messages of one batch
 * are sent in one write.
 */
export function createService<Desc extends DescService>(
  desc: Desc,
  implementation: Partial<ServiceImpl<Desc>>,
  { isInHealth = true, isOpen = false, abortCalls }: ServiceSettings = {},
): Service {
  const { methods } = createServiceImplSpec<Desc>(desc, implementation);
  return { desc, methods: Object.values(methods), isInHealth, isOpen, abortCalls };
}
