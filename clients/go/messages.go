package outrigger

import (
	"strings"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// Messages of the contract that programs use most, so that they need not import its package.
type (
	// Request is one call of a model, for Complete and Stream.
	Request = pb.Request
	// Message is one entry of a conversation.
	Message = pb.Message
	// ContentPart is one part of a message.
	ContentPart = pb.ContentPart
	// ToolCall is a call of a tool, written by the model.
	ToolCall = pb.ToolCall
	// ToolResult is the result of a tool call.
	ToolResult = pb.ToolResult
	// ToolChoice says whether and how the model must use tools.
	ToolChoice = pb.ToolChoice
	// Grammar constrains the input of a custom tool.
	Grammar = pb.Grammar
	// Usage has the tokens that a call used.
	Usage = pb.Usage
	// FinishReason says why the model stopped.
	FinishReason = pb.FinishReason
	// StreamEvent is an event of a model's answer.
	StreamEvent = pb.StreamEvent
	// StepResult is one call of the model and the results of the tools that it called.
	StepResult = pb.StepResult
	// Attempt is one call of a provider's API: the first one, a retry, or a fallback.
	Attempt = pb.Attempt
	// InferenceError is a failure, as the contract has it.
	InferenceError = pb.InferenceError
	// ProviderFailure is what a provider said about its failure.
	ProviderFailure = pb.ProviderFailure
	// NoObject is an answer that is not the requested object.
	NoObject = pb.NoObject
)

// Response is a model's whole answer: the contract's message, and accessors of its content.
type Response struct {
	*pb.Response
}

// Text returns the texts of the answer, joined.
func (r *Response) Text() string {
	return TextOf(r.GetMessage())
}

// Reasoning returns the reasoning of the answer, as far as the provider shows it.
func (r *Response) Reasoning() string {
	return ReasoningOf(r.GetMessage())
}

// ToolCalls returns the tool calls of the answer, in their order.
func (r *Response) ToolCalls() []*ToolCall {
	return ToolCallsOf(r.GetMessage())
}

// Content is what has parts: a *Message or a *ToolResult.
type Content interface {
	GetContent() []*ContentPart
}

// TextOf joins the text parts of a message or of a tool's result.
func TextOf(content Content) string {
	var text strings.Builder
	for _, part := range content.GetContent() {
		text.WriteString(part.GetText())
	}
	return text.String()
}

// ReasoningOf joins the reasoning of a message.
func ReasoningOf(message *Message) string {
	var text strings.Builder
	for _, part := range message.GetContent() {
		text.WriteString(part.GetReasoning().GetText())
	}
	return text.String()
}

// ToolCallsOf returns the tool calls of a message, in their order.
func ToolCallsOf(message *Message) []*ToolCall {
	var calls []*ToolCall
	for _, part := range message.GetContent() {
		if call := part.GetToolCall(); call != nil {
			calls = append(calls, call)
		}
	}
	return calls
}

// UserMessage makes a message of the user from a text and further parts.
func UserMessage(text string, parts ...*ContentPart) *Message {
	return &Message{Role: pb.Role_ROLE_USER, Content: append([]*ContentPart{TextPart(text)}, parts...)}
}

// SystemMessage makes a message with instructions for the whole conversation.
func SystemMessage(text string) *Message {
	return &Message{Role: pb.Role_ROLE_SYSTEM, Content: []*ContentPart{TextPart(text)}}
}

// AssistantMessage makes a message of the model, for examples. An answer that a model gave goes back as
// Result.Messages or Response.Message has it.
func AssistantMessage(text string) *Message {
	return &Message{Role: pb.Role_ROLE_ASSISTANT, Content: []*ContentPart{TextPart(text)}}
}

// ToolMessage makes the message that answers tool calls.
func ToolMessage(results ...*ToolResult) *Message {
	message := &Message{Role: pb.Role_ROLE_TOOL}
	for _, result := range results {
		message.Content = append(message.Content, &ContentPart{Part: &pb.ContentPart_ToolResult{ToolResult: result}})
	}
	return message
}

// TextPart makes a part of text.
func TextPart(text string) *ContentPart {
	return &ContentPart{Part: &pb.ContentPart_Text{Text: text}}
}

// ImagePart makes a part of an image's bytes.
func ImagePart(mediaType string, data []byte) *ContentPart {
	image := &pb.Image{MediaType: mediaType, Source: &pb.Image_Data{Data: data}}
	return &ContentPart{Part: &pb.ContentPart_Image{Image: image}}
}

// ImageURLPart makes a part of an image that the provider fetches, or of a data: URL.
func ImageURLPart(url string) *ContentPart {
	return &ContentPart{Part: &pb.ContentPart_Image{Image: &pb.Image{Source: &pb.Image_Url{Url: url}}}}
}

// AudioPart makes a part of an audio clip's bytes, for instance of the media type audio/wav.
func AudioPart(mediaType string, data []byte) *ContentPart {
	audio := &pb.Audio{MediaType: mediaType, Source: &pb.Audio_Data{Data: data}}
	return &ContentPart{Part: &pb.ContentPart_Audio{Audio: audio}}
}

// DocumentPart makes a part of a document's bytes, for instance of the media type application/pdf.
func DocumentPart(mediaType, fileName string, data []byte) *ContentPart {
	document := &pb.Document{MediaType: mediaType, FileName: fileName, Source: &pb.Document_Data{Data: data}}
	return &ContentPart{Part: &pb.ContentPart_Document{Document: document}}
}

// TextResult makes the result of a tool call from a text.
func TextResult(callID, text string) *ToolResult {
	return &ToolResult{ToolCallId: callID, Content: []*ContentPart{TextPart(text)}}
}
