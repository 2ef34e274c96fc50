import type { DescFile } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { boundedText } from "../../core/text.ts";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import {
  ServerReflection as ReflectionV1,
  type ServerReflectionRequest as RequestV1,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import {
  ServerReflection as ReflectionV1Alpha,
  type ServerReflectionRequest as RequestV1Alpha,
} from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { createService, type Service } from "../calls/service.ts";
import { createReflectionIndex, type ReflectionIndex, serializeWithImports } from "./reflection-index.ts";

/** Creates `grpc.reflection` in both versions, over the descriptors of the given services and of reflection itself. */
export function createReflectionServices(services: readonly Service[]): readonly Service[] {
  const index = createReflectionIndex(
    [...services.map(({ desc }) => desc), ReflectionV1, ReflectionV1Alpha],
    // Error details travel as Any: tools look up their types to show them.
    [file_google_rpc_error_details],
  );
  // The second one is the old name of the service, which many tools still call first.
  return [
    createService(
      ReflectionV1,
      { serverReflectionInfo: (requests) => toResponses(requests, index) },
      { isInHealth: false },
    ),
    createService(
      ReflectionV1Alpha,
      { serverReflectionInfo: (requests) => toResponses(requests, index) },
      { isInHealth: false },
    ),
  ];
}

/** The response of both versions, which have the same fields. */
type Answer =
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: "errorResponse"; value: { errorCode: Code; errorMessage: string } };

const MAX_NAME_BYTES = 256;

async function* toResponses<Request extends RequestV1 | RequestV1Alpha>(
  requests: AsyncIterable<Request>,
  index: ReflectionIndex,
) {
  const sent = new Set<string>();
  for await (const request of requests)
    yield {
      validHost: request.host,
      originalRequest: request,
      messageResponse: answerTo(request, index, sent),
    };
}

function answerTo(
  { messageRequest: query }: RequestV1 | RequestV1Alpha,
  index: ReflectionIndex,
  sent: Set<string>,
): Answer {
  switch (query.case) {
    case "listServices":
      return toList(index);
    case "fileByFilename":
      return fileAnswer(index.file(query.value), query.value, sent);
    case "fileContainingSymbol":
      return fileAnswer(index.findFileBySymbol(query.value), query.value, sent);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = query.value;
      const file = index.findFileByExtension(containingType, extensionNumber);
      return fileAnswer(file, `extension ${extensionNumber} of ${containingType}`, sent);
    }
    case "allExtensionNumbersOfType":
      return listNumbers(index, query.value);
    default:
      return errorAnswer(Code.InvalidArgument, "message_request: is not set, expected a query");
  }
}

function toList({ services }: ReflectionIndex): Answer {
  return { case: "listServicesResponse", value: { service: services.map((name) => ({ name })) } };
}

function fileAnswer(file: DescFile | undefined, asked: string, sent: Set<string>): Answer {
  if (file === undefined) return notFound(asked);
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto: serializeWithImports(file, sent) } };
}

function listNumbers(index: ReflectionIndex, baseTypeName: string): Answer {
  const numbers = index.extensionNumbers(baseTypeName);
  if (numbers === undefined) return notFound(baseTypeName);
  return { case: "allExtensionNumbersResponse", value: { baseTypeName, extensionNumber: [...numbers] } };
}

function notFound(asked: string): Answer {
  return errorAnswer(Code.NotFound, `not found: ${boundedText(asked, MAX_NAME_BYTES)}`);
}

function errorAnswer(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
