import type { DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { Health as HealthService } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection as ReflectionV1 } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ReflectionV1Alpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { CatalogService } from "../../gen/outrigger/v1/catalog_service_pb.ts";
import { InferenceService } from "../../gen/outrigger/v1/inference_service_pb.ts";
import type { ServerOptions } from "../options.ts";
import { createCatalogService } from "./catalog-service.ts";
import { createHealth, type Health } from "./health-service.ts";
import { createInferenceService } from "./inference-service.ts";
import { createReflectionIndex } from "./reflection-index.ts";
import { createReflectionV1, createReflectionV1Alpha } from "./reflection-service.ts";

/** Where services are mounted: Connect's router, or another transport that runs the same implementations. */
export interface ServiceRegistry {
  service<Service extends DescService>(
    service: Service,
    implementation: Partial<ServiceImpl<Service>>,
  ): unknown;
}

/** Mounts services. Every transport gets the same ones. */
export type Routes = (registry: ServiceRegistry) => void;

/** The services of a server. */
export interface Services {
  readonly health: Health;
  /** Everything, for the door. */
  readonly routes: Routes;
  /** Health alone, for the admin listener. */
  readonly adminRoutes: Routes;
}

/** Makes the services that the options ask for. */
export function createServices(
  options: Pick<ServerOptions, "inference" | "catalog" | "reflection">,
): Services {
  const ours = [InferenceService, CatalogService];
  const health = createHealth(ours.map((service) => service.typeName));
  const inference = createInferenceService(options.inference);
  const catalog = createCatalogService(options.catalog);
  const adminRoutes: Routes = (registry) => registry.service(HealthService, health.service);
  return {
    health,
    adminRoutes,
    routes(registry) {
      registry.service(InferenceService, inference);
      registry.service(CatalogService, catalog);
      adminRoutes(registry);
      if (options.reflection ?? true) mountReflection(registry, [...ours, HealthService]);
    },
  };
}

function mountReflection(registry: ServiceRegistry, services: readonly DescService[]): void {
  // Error details travel as Any: tools look their types up to show them.
  const index = createReflectionIndex(
    [...services, ReflectionV1, ReflectionV1Alpha],
    [file_google_rpc_error_details],
  );
  registry.service(ReflectionV1, createReflectionV1(index));
  registry.service(ReflectionV1Alpha, createReflectionV1Alpha(index));
}
