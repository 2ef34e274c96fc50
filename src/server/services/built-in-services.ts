import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { Health as HealthService } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection as ReflectionV1 } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ReflectionV1Alpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { createService, type Service } from "../calls/service.ts";
import type { Health } from "./health-service.ts";
import { createReflectionIndex } from "./reflection-index.ts";
import { createReflectionV1, createReflectionV1Alpha } from "./reflection-service.ts";

/** Creates `grpc.health.v1`. Needs no access key, since probes and load balancers have none. */
export function createHealthService(health: Health): Service {
  return createService(HealthService, health.service, { isInHealth: false, isOpen: true });
}

/** Creates `grpc.reflection` in both versions, over the descriptors of the given services and of reflection itself. */
export function createReflectionServices(services: readonly Service[]): readonly Service[] {
  const index = createReflectionIndex(
    [...services.map(({ desc }) => desc), ReflectionV1, ReflectionV1Alpha],
    // Error details travel as Any: tools look up their types to show them.
    [file_google_rpc_error_details],
  );
  return [
    createService(ReflectionV1, createReflectionV1(index), { isInHealth: false }),
    createService(ReflectionV1Alpha, createReflectionV1Alpha(index), { isInHealth: false }),
  ];
}
