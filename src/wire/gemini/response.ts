/** Answers of `generateContent` (provider documentation: "GenerateContentResponse"). */
import type {
  GroundingChunkImage,
  GroundingChunkMaps,
  GroundingChunkRetrievedContext,
  GroundingChunkWeb,
  Candidate as SdkCandidate,
  Citation as SdkCitation,
  CitationMetadata as SdkCitationMetadata,
  GenerateContentResponse as SdkGenerateContentResponse,
  GroundingMetadata as SdkGroundingMetadata,
  GroundingSupport as SdkGroundingSupport,
  GenerateContentResponsePromptFeedback as SdkPromptFeedback,
  Segment as SdkSegment,
  UrlContextMetadata as SdkUrlContextMetadata,
  UrlMetadata as SdkUrlMetadata,
  GenerateContentResponseUsageMetadata as SdkUsageMetadata,
} from "@google/genai";
import type { JsonForm } from "./json-form.ts";
import type { Content } from "./request.ts";

/** Properties that the SDK's class computes, and that no server sends. */
type SdkProperty =
  | "text"
  | "data"
  | "functionCalls"
  | "executableCode"
  | "codeExecutionResult"
  | "initialPromptTokenCount"
  | "sdkHttpResponse"
  | "automaticFunctionCallingHistory";

/** A whole answer, and each event of a stream (provider documentation: "GenerateContentResponse"). */
export interface GenerateContentResponse
  extends Omit<
    JsonForm<Omit<SdkGenerateContentResponse, SdkProperty>>,
    "candidates" | "promptFeedback" | "usageMetadata"
  > {
  readonly candidates?: readonly Candidate[];
  readonly promptFeedback?: PromptFeedback;
  readonly usageMetadata?: UsageMetadata;
}

/** One of the answers (provider documentation: "Candidate"). */
export interface Candidate
  extends Omit<
    JsonForm<SdkCandidate>,
    "content" | "citationMetadata" | "groundingMetadata" | "urlContextMetadata" | "finishReason"
  > {
  readonly content?: Content;
  readonly finishReason?: string;
  readonly citationMetadata?: CitationMetadata;
  readonly groundingMetadata?: GroundingMetadata;
  readonly urlContextMetadata?: UrlContextMetadata;
  /** The model's rank of the candidate (Vertex AI documentation: "Candidate"); the SDK does not list it. */
  readonly score?: number;
}

/** Why a prompt was blocked (provider documentation: "PromptFeedback"). */
export type PromptFeedback = JsonForm<SdkPromptFeedback>;

/** Token counts, cumulative in a stream (provider documentation: "UsageMetadata"). */
export interface UsageMetadata extends JsonForm<SdkUsageMetadata> {
  /** Sent by the API; the SDK does not list it. */
  readonly serviceTier?: string;
}

/** Texts that the answer recites (provider documentation: "CitationMetadata"). */
export interface CitationMetadata extends JsonForm<SdkCitationMetadata> {
  /** The name of the list in the Gemini API; Vertex calls it `citations`. */
  readonly citationSources?: readonly CitationSource[];
}

/** A recited text. Its span counts bytes of UTF-8, the end exclusive (provider documentation: "CitationSource"). */
export type CitationSource = JsonForm<SdkCitation>;

/** The sources that an answer is based on (provider documentation: "GroundingMetadata"). */
export interface GroundingMetadata extends Omit<JsonForm<SdkGroundingMetadata>, "groundingSupports"> {
  readonly groundingSupports?: readonly GroundingSupport[];
}

/** A span of the answer and the chunks that support it (provider documentation: "GroundingSupport"). */
export interface GroundingSupport extends Omit<JsonForm<SdkGroundingSupport>, "segment"> {
  readonly segment?: Segment;
}

/**
 * A span of a part of the answer: `startIndex` and `endIndex` count bytes of UTF-8 from the beginning of the part, the
 * end exclusive. Zero is left out (provider documentation: "Segment").
 */
export type Segment = JsonForm<SdkSegment>;

/** The data of a grounding chunk of any kind (provider documentation: "GroundingChunk", "Web", "Maps"). */
export type GroundingSource = JsonForm<
  GroundingChunkWeb | GroundingChunkMaps | GroundingChunkRetrievedContext | GroundingChunkImage
>;

/** Pages that the provider read (provider documentation: "UrlContextMetadata"). */
export type UrlContextMetadata = JsonForm<SdkUrlContextMetadata>;

/** One page that the provider read (provider documentation: "UrlMetadata"). */
export type UrlMetadata = JsonForm<SdkUrlMetadata>;
