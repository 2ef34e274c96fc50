package outrigger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// Kind is the class of a failure. A Kind is an error itself, so that errors.Is and errors.AsType take it:
//
//	if errors.Is(err, outrigger.ErrRateLimit) { ... }
//	switch kind, _ := errors.AsType[outrigger.Kind](err); kind { ... }
type Kind int32

// The kinds of failures. ErrProvider is also the parent of the failures of the request, the provider or its
// answer: errors.Is(err, ErrProvider) is true for all of them, up to ErrInvalidToolCall.
const (
	// ErrProvider is a failure of the provider that fits no other kind.
	ErrProvider = Kind(pb.ErrorKind_ERROR_KIND_PROVIDER)
	// ErrAuthentication says that a key is missing, wrong or expired; Error.IsAccessKey says which.
	ErrAuthentication = Kind(pb.ErrorKind_ERROR_KIND_AUTHENTICATION)
	// ErrAccessDenied says that the API key is not allowed to do this.
	ErrAccessDenied = Kind(pb.ErrorKind_ERROR_KIND_ACCESS_DENIED)
	// ErrNotFound says that there is no such model or endpoint.
	ErrNotFound = Kind(pb.ErrorKind_ERROR_KIND_NOT_FOUND)
	// ErrInvalidRequest says that the request is invalid; Error.Violations names the fields.
	ErrInvalidRequest = Kind(pb.ErrorKind_ERROR_KIND_INVALID_REQUEST)
	// ErrRateLimit says that there were too many requests; see Error.RetryAfter.
	ErrRateLimit = Kind(pb.ErrorKind_ERROR_KIND_RATE_LIMIT)
	// ErrServer says that the provider failed or is overloaded.
	ErrServer = Kind(pb.ErrorKind_ERROR_KIND_SERVER)
	// ErrContentFilter says that a safety filter blocked the call.
	ErrContentFilter = Kind(pb.ErrorKind_ERROR_KIND_CONTENT_FILTER)
	// ErrContextLength says that the conversation is longer than the model takes.
	ErrContextLength = Kind(pb.ErrorKind_ERROR_KIND_CONTEXT_LENGTH)
	// ErrQuotaExceeded says that the account's credit or quota is used up.
	ErrQuotaExceeded = Kind(pb.ErrorKind_ERROR_KIND_QUOTA_EXCEEDED)
	// ErrInvalidToolCall says that the model wrote an invalid tool call.
	ErrInvalidToolCall = Kind(pb.ErrorKind_ERROR_KIND_INVALID_TOOL_CALL)
	// ErrRequestTimeout says that a time limit ran out. It is context.DeadlineExceeded too.
	ErrRequestTimeout = Kind(pb.ErrorKind_ERROR_KIND_REQUEST_TIMEOUT)
	// ErrAbort says that the caller cancelled. It is context.Canceled too.
	ErrAbort = Kind(pb.ErrorKind_ERROR_KIND_ABORT)
	// ErrNetwork says that the sidecar or the provider could not be reached.
	ErrNetwork = Kind(pb.ErrorKind_ERROR_KIND_NETWORK)
	// ErrStream says that a stream ended without its end marker, or violated its protocol.
	ErrStream = Kind(pb.ErrorKind_ERROR_KIND_STREAM)
	// ErrNoObjectGenerated says that the answer does not match the schema; Error.NoObject has the answer.
	ErrNoObjectGenerated = Kind(pb.ErrorKind_ERROR_KIND_NO_OBJECT_GENERATED)
	// ErrConfiguration says that the sidecar, or the Client, is not configured for this call.
	ErrConfiguration = Kind(pb.ErrorKind_ERROR_KIND_CONFIGURATION)
	// ErrUnsupportedToolChoice says that the provider or model does not support the tool choice.
	ErrUnsupportedToolChoice = Kind(pb.ErrorKind_ERROR_KIND_UNSUPPORTED_TOOL_CHOICE)
	// ErrInternal is a bug in Outrigger.
	ErrInternal = Kind(pb.ErrorKind_ERROR_KIND_INTERNAL)
)

// String returns the kind in words, for instance "rate limit".
func (k Kind) String() string {
	name, found := strings.CutPrefix(pb.ErrorKind(k).String(), "ERROR_KIND_")
	if !found {
		return fmt.Sprintf("failure of kind %d", int32(k))
	}
	return strings.ToLower(strings.ReplaceAll(name, "_", " "))
}

// Error implements error.
func (k Kind) Error() string {
	return "outrigger: " + k.String()
}

// includes reports whether a failure of the kind other is one of the kind k.
func (k Kind) includes(other Kind) bool {
	ofProvider := other >= ErrProvider && other < ErrRequestTimeout
	return k == other || k == ErrProvider && ofProvider
}

// FieldViolation is a field of a request that is wrong.
type FieldViolation struct {
	// Field is its path with the contract's names, for instance messages[2].content[0].image.url.
	Field string
	// Description says what was found and what was expected.
	Description string
}

// Error is the error of every failed call, for errors.As. Compare its kind with
// errors.Is, the gRPC status with status.FromError.
type Error struct {
	// Kind is the class of the failure.
	Kind Kind
	// Message says what happened, for a person. It is not stable.
	Message string
	// Retryable says whether the same request may succeed later.
	Retryable bool
	// OutputStarted says whether the model had begun to produce output, for which a retry pays again.
	OutputStarted bool
	// Usage has the tokens that were used before the failure, in all steps. Nil where unknown.
	Usage *Usage
	// ProviderFailure has what the provider said. Nil if the failure is not the provider's.
	ProviderFailure *ProviderFailure
	// NoObject has the answer that is not the requested object. Set only with ErrNoObjectGenerated.
	NoObject *NoObject
	// Violations names the fields of the request that are wrong.
	Violations []FieldViolation
	// Steps are the steps of a generation that were complete before it failed. Messages returns what to
	// append to the conversation to continue from there.
	Steps []*StepResult
	// Attempts are the calls of providers in a generation that failed after a step was complete: as many of
	// the latest as the sidecar could send with the failure.
	Attempts []*Attempt

	retryAfter *time.Duration
	status     *status.Status
	cause      error
}

// Error implements error.
func (e *Error) Error() string {
	return e.Kind.Error() + ": " + e.Message
}

// IsAccessKey reports whether the sidecar refused the caller's access key. An ErrAuthentication for which it is
// false says that a provider refused the key that the sidecar has for it.
func (e *Error) IsAccessKey() bool {
	return e.Kind == ErrAuthentication && e.ProviderFailure == nil
}

// Messages returns what Steps add to the conversation: the model's messages, unchanged, and the results of
// the tools. A generation whose messages end with them executes none of these tools again.
func (e *Error) Messages() []*Message {
	return messagesOfSteps(e.Steps)
}

// RetryAfter returns how long to wait before a retry. The second result is false if that is unknown.
func (e *Error) RetryAfter() (time.Duration, bool) {
	if e.retryAfter == nil {
		return 0, false
	}
	return *e.retryAfter, true
}

// Is reports whether the failure is of the kind target. ErrRequestTimeout is also
// context.DeadlineExceeded, ErrAbort also context.Canceled.
func (e *Error) Is(target error) bool {
	if kind, ok := target.(Kind); ok {
		return kind.includes(e.Kind)
	}
	return e.Kind == ErrRequestTimeout && target == context.DeadlineExceeded ||
		e.Kind == ErrAbort && target == context.Canceled
}

// As gives the kind to a target of type *Kind, so that errors.AsType[Kind] finds it for a switch.
func (e *Error) As(target any) bool {
	kind, ok := target.(*Kind)
	if ok {
		*kind = e.Kind
	}
	return ok
}

// Unwrap returns the failure that caused this one, or nil. Where the context of the call was cancelled
// with a cause, it is that one.
func (e *Error) Unwrap() error {
	return e.cause
}

// GRPCStatus returns the status of the call, for status.FromError and status.Code.
func (e *Error) GRPCStatus() *status.Status {
	if e.status == nil {
		return status.New(codes.Unknown, e.Error())
	}
	return e.status
}

// LogValue implements slog.LogValuer: the facts of the failure as a group. It holds no text of a model.
func (e *Error) LogValue() slog.Value {
	facts := []slog.Attr{
		slog.String("kind", e.Kind.String()),
		slog.String("message", e.Message),
		slog.Bool("retryable", e.Retryable),
	}
	if after, known := e.RetryAfter(); known {
		facts = append(facts, slog.Duration("retry_after", after))
	}
	if failure := e.ProviderFailure; failure != nil {
		facts = append(facts,
			slog.String("provider", failure.GetProvider()),
			slog.Int("http_status_code", int(failure.GetHttpStatusCode())),
			slog.String("error_code", failure.GetErrorCode()),
			slog.String("request_id", failure.GetRequestId()))
	}
	return slog.GroupValue(facts...)
}

// errorOf is the one way from what gRPC returns to an Error.
func errorOf(ctx context.Context, err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	converted := fromStatus(status.Convert(err))
	isCallers := converted.Kind == ErrAbort || converted.Kind == ErrRequestTimeout
	if isCallers && ctx.Err() != nil && converted.cause == nil {
		converted.cause = context.Cause(ctx)
	}
	return converted
}

func fromStatus(state *status.Status) *Error {
	converted := ofCode(state)
	var violations []FieldViolation
	var progress *pb.FailedGeneration
	for _, detail := range state.Details() {
		switch d := detail.(type) {
		case *pb.InferenceError:
			converted = fromProto(d)
		case *errdetails.BadRequest:
			violations = violationsOf(d)
		case *pb.FailedGeneration:
			progress = d
		}
	}
	converted.Violations = violations
	converted.Steps, converted.Attempts = progress.GetSteps(), progress.GetAttempts()
	converted.status = state
	return converted
}

// fromProto converts a failure, and those that caused it.
func fromProto(failure *InferenceError) *Error {
	converted := &Error{
		Kind:            Kind(failure.GetKind()),
		Message:         failure.GetMessage(),
		Retryable:       failure.GetRetryable(),
		OutputStarted:   failure.GetOutputStarted(),
		Usage:           failure.GetUsage(),
		ProviderFailure: failure.GetProviderFailure(),
		NoObject:        failure.GetNoObject(),
	}
	if after := failure.GetRetryAfter(); after != nil {
		converted.retryAfter = new(after.AsDuration())
	}
	if cause := failure.GetCause(); cause != nil {
		converted.cause = fromProto(cause)
	}
	return converted
}

func violationsOf(bad *errdetails.BadRequest) []FieldViolation {
	violations := make([]FieldViolation, len(bad.GetFieldViolations()))
	for i, violation := range bad.GetFieldViolations() {
		violations[i] = FieldViolation{Field: violation.GetField(), Description: violation.GetDescription()}
	}
	return violations
}

// ofCode converts a status without details, which is gRPC's own or that of a proxy.
func ofCode(state *status.Status) *Error {
	kind := kindOfCode(state.Code())
	if strings.Contains(state.Message(), "error while marshaling") {
		// The message is the caller's: a string that is not UTF-8.
		kind = ErrInvalidRequest
	}
	isRetryable := kind == ErrNetwork || kind == ErrRequestTimeout
	return &Error{Kind: kind, Message: state.Message(), Retryable: isRetryable}
}

func kindOfCode(code codes.Code) Kind {
	switch code {
	case codes.Unavailable:
		return ErrNetwork
	case codes.DeadlineExceeded:
		return ErrRequestTimeout
	case codes.Canceled:
		return ErrAbort
	case codes.Unauthenticated:
		return ErrAuthentication
	case codes.PermissionDenied:
		return ErrAccessDenied
	case codes.NotFound:
		return ErrNotFound
	case codes.InvalidArgument, codes.ResourceExhausted:
		// What gRPC itself finds exhausted is the limit for a message.
		return ErrInvalidRequest
	case codes.FailedPrecondition, codes.Unimplemented:
		// A sidecar that lacks a service is too old.
		return ErrConfiguration
	default:
		return ErrInternal
	}
}

// invalid is the error of a request that is not sent, because of one field.
func invalid(field, format string, args ...any) *Error {
	description := fmt.Sprintf(format, args...)
	return &Error{
		Kind:       ErrInvalidRequest,
		Message:    field + ": " + description,
		Violations: []FieldViolation{{Field: field, Description: description}},
	}
}
