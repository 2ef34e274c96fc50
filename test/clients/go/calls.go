package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	pb "example.com/outrigger-client/build/outrigger/v1"
)

func checkHealth(ctx context.Context, to sidecar) error {
	for _, service := range []string{"", "outrigger.v1.InferenceService"} {
		answer, err := to.health.Check(ctx, &healthpb.HealthCheckRequest{Service: service})
		if err != nil {
			return err
		}
		if answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			return fmt.Errorf("service %q is %v", service, answer.GetStatus())
		}
	}
	return nil
}

func checkComplete(ctx context.Context, to sidecar) error {
	response, err := to.inference.Complete(ctx, &pb.Request{
		Model:    "sim-text",
		Messages: []*pb.Message{textMessage(pb.Role_ROLE_USER, "Say hello.")},
	})
	if err != nil {
		return err
	}
	if textOf(response.GetMessage()) == "" {
		return errors.New("the answer has no text")
	}
	if reason := response.GetFinishReason().GetReason(); reason != pb.FinishReason_REASON_STOP {
		return fmt.Errorf("finish reason %v, want STOP", reason)
	}
	usage := response.GetUsage()
	if usage.GetTotalTokens() == 0 || usage.GetTotalTokens() != usage.GetInputTokens()+usage.GetOutputTokens() {
		return fmt.Errorf("usage does not add up: %v", usage)
	}
	return nil
}

func checkStream(ctx context.Context, to sidecar) error {
	stream, err := to.inference.Stream(ctx, &pb.Request{
		Model:    "sim-text",
		Messages: []*pb.Message{textMessage(pb.Role_ROLE_USER, "Say hello.")},
	})
	if err != nil {
		return err
	}
	events, err := receiveAll(stream)
	if err != nil {
		return err
	}
	if err := checkOrder(events); err != nil {
		return err
	}
	return checkText(events)
}

// receiveAll reads a stream to its end. Events that came before a failure are returned with it.
func receiveAll(stream grpc.ServerStreamingClient[pb.StreamEvent]) ([]*pb.StreamEvent, error) {
	var events []*pb.StreamEvent
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, event)
	}
}

// checkOrder checks laws 1 and 2 of a stream; the laws are listed at StreamEvent in the contract.
func checkOrder(events []*pb.StreamEvent) error {
	last := len(events) - 1
	for i, event := range events {
		if event.GetSequence() != int32(i) {
			return fmt.Errorf("event %d has sequence %d", i, event.GetSequence())
		}
		if (event.GetStreamStart() != nil) != (i == 0) {
			return fmt.Errorf("event %d is %T; stream_start is first, and only there", i, event.GetEvent())
		}
		if (event.GetFinish() != nil) != (i == last) {
			return fmt.Errorf("event %d of %d is %T; finish is last, and only there", i, last, event.GetEvent())
		}
	}
	if last < 0 {
		return errors.New("the stream has no events")
	}
	return nil
}

// checkText checks law 4 of a stream: the deltas concatenate to the text in the block's end and in
// the final response.
func checkText(events []*pb.StreamEvent) error {
	streamed := map[int32]string{}
	blocks := 0
	content := events[len(events)-1].GetFinish().GetResponse().GetMessage().GetContent()
	for _, event := range events {
		switch e := event.GetEvent().(type) {
		case *pb.StreamEvent_TextDelta:
			streamed[e.TextDelta.GetPartIndex()] += e.TextDelta.GetDelta()
		case *pb.StreamEvent_TextEnd:
			blocks++
			index, text := e.TextEnd.GetPartIndex(), e.TextEnd.GetText()
			if text == "" || text != streamed[index] {
				return fmt.Errorf("deltas of part %d say %q, text_end says %q", index, streamed[index], text)
			}
			if int(index) >= len(content) || content[index].GetText() != text {
				return fmt.Errorf("part %d of the final response is not what was streamed", index)
			}
		default:
			// Callers must skip unknown events, since kinds may be added.
		}
	}
	if blocks == 0 || blocks != len(streamed) {
		return fmt.Errorf("%d parts of text were streamed, %d ended", len(streamed), blocks)
	}
	return nil
}

func checkToolRoundTrip(ctx context.Context, to sidecar) error {
	const result = "18 degrees and drizzle"
	request := &pb.Request{
		Model:    "sim-tools",
		Messages: []*pb.Message{textMessage(pb.Role_ROLE_USER, "How is the weather in Oslo?")},
		Tools: []*pb.Tool{{Tool: &pb.Tool_Function{Function: &pb.FunctionTool{
			Name:        "get_weather",
			Description: "Current weather of a city.",
			// JSON is sent as text: a Struct would lose the order of its keys.
			ParametersJson: `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`,
		}}}},
	}
	first, err := to.inference.Complete(ctx, request)
	if err != nil {
		return err
	}
	if reason := first.GetFinishReason().GetReason(); reason != pb.FinishReason_REASON_TOOL_CALLS {
		return fmt.Errorf("finish reason %v, want TOOL_CALLS", reason)
	}
	answers, err := runTools(first.GetMessage(), result)
	if err != nil {
		return err
	}

	// The assistant's message is sent back unchanged. Its parts may carry provider_state
	// (signatures, encrypted reasoning) that the provider requires.
	request.Messages = append(request.Messages, first.GetMessage(), answers)
	second, err := to.inference.Complete(ctx, request)
	if err != nil {
		return err
	}
	if text := textOf(second.GetMessage()); !strings.Contains(text, result) {
		return fmt.Errorf("the answer %q does not quote the tool's result", text)
	}
	return nil
}

// runTools executes every tool call of a message; a model may make several at once.
func runTools(message *pb.Message, result string) (*pb.Message, error) {
	answers := &pb.Message{Role: pb.Role_ROLE_TOOL}
	for _, part := range message.GetContent() {
		call := part.GetToolCall()
		if call == nil {
			continue
		}
		// The model generates the arguments, which may not be valid JSON.
		var arguments struct {
			City string `json:"city"`
		}
		if err := json.Unmarshal([]byte(call.GetArgumentsJson()), &arguments); err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", call.GetName(), err)
		}
		if call.GetName() != "get_weather" || arguments.City == "" {
			return nil, fmt.Errorf("unexpected call %s(%s)", call.GetName(), call.GetArgumentsJson())
		}
		answers.Content = append(answers.Content, &pb.ContentPart{Part: &pb.ContentPart_ToolResult{
			ToolResult: &pb.ToolResult{ToolCallId: call.GetId(), Content: []*pb.ContentPart{textPart(result)}},
		}})
	}
	if len(answers.Content) == 0 {
		return nil, errors.New("the model called no tool")
	}
	return answers, nil
}

func textPart(text string) *pb.ContentPart {
	return &pb.ContentPart{Part: &pb.ContentPart_Text{Text: text}}
}

func textMessage(role pb.Role, text string) *pb.Message {
	return &pb.Message{Role: role, Content: []*pb.ContentPart{textPart(text)}}
}

// textOf joins the text parts of a message. A message may have other parts between them.
func textOf(message *pb.Message) string {
	var text strings.Builder
	for _, part := range message.GetContent() {
		text.WriteString(part.GetText())
	}
	return text.String()
}
