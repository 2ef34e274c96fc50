import type { DescFile } from "@bufbuild/protobuf";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import type {
  ServerReflectionRequest as RequestV1,
  ServerReflection as ServerReflectionV1,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import type {
  ServerReflectionRequest as RequestV1Alpha,
  ServerReflection as ServerReflectionV1Alpha,
} from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { boundedText } from "../status/bounded-text.ts";
import { type ReflectionIndex, serializeWithImports } from "./reflection-index.ts";

/** Creates `grpc.reflection.v1`. */
export function createReflectionV1(index: ReflectionIndex): ServiceImpl<typeof ServerReflectionV1> {
  return {
    async *serverReflectionInfo(requests) {
      for await (const [request, messageResponse] of answersTo(requests, index)) {
        yield { validHost: request.host, originalRequest: request, messageResponse };
      }
    },
  };
}

/** Creates `grpc.reflection.v1alpha`, the old name of the service, which many tools still call first. */
export function createReflectionV1Alpha(index: ReflectionIndex): ServiceImpl<typeof ServerReflectionV1Alpha> {
  return {
    async *serverReflectionInfo(requests) {
      for await (const [request, messageResponse] of answersTo(requests, index)) {
        yield { validHost: request.host, originalRequest: request, messageResponse };
      }
    },
  };
}

/** The response of both versions, which have the same fields. */
type Answer =
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: "errorResponse"; value: { errorCode: Code; errorMessage: string } };

const MAX_NAME_BYTES = 256;

async function* answersTo<Request extends RequestV1 | RequestV1Alpha>(
  requests: AsyncIterable<Request>,
  index: ReflectionIndex,
): AsyncGenerator<[Request, Answer]> {
  const sent = new Set<string>();
  for await (const request of requests) yield [request, answerTo(request, index, sent)];
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
      return fileAnswer(index.fileOfSymbol(query.value), query.value, sent);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = query.value;
      const file = index.fileOfExtension(containingType, extensionNumber);
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
