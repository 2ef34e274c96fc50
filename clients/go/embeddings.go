package outrigger

import (
	"context"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// Messages of embeddings and counts of tokens.
type (
	// EmbedRequest has texts to embed.
	EmbedRequest = pb.EmbedRequest
	// EmbedResponse has one vector for each text.
	EmbedResponse = pb.EmbedResponse
	// TokenCount has the tokens of the input of a request.
	TokenCount = pb.CountTokensResponse
)

// Embed embeds texts. ErrInvalidRequest if the provider has no embeddings.
func (c *Client) Embed(ctx context.Context, request *EmbedRequest) (*EmbedResponse, error) {
	return answered(ctx, request, c.embeddings.Embed)
}

// CountTokens counts the tokens of a request's input, as its provider does; an estimate if the provider counts
// none.
func (c *Client) CountTokens(ctx context.Context, request *Request) (*TokenCount, error) {
	return answered(ctx, request, c.inference.CountTokens)
}
