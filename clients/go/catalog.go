package outrigger

import (
	"context"
	"iter"

	pb "github.com/outrigger-inference/outrigger/clients/go/outrigger/v1"
)

// Messages of the catalog.
type (
	// ModelInfo is what is known about a model: its limits, capabilities and prices.
	ModelInfo = pb.ModelInfo
	// Capability is something that a model can do.
	Capability = pb.Capability
)

// GetModelInfo returns what the catalog knows about a model, by its id or an alias. An empty provider means
// any. ErrNotFound if the catalog does not know the model, which can be called all the same.
func (c *Client) GetModelInfo(ctx context.Context, model, provider string) (*ModelInfo, error) {
	request := &pb.GetModelRequest{Model: model, Provider: provider}
	return answered(ctx, request, c.catalog.GetModel)
}

// ListModels returns the known models that have all these capabilities, newest first within a provider. An
// empty provider means all. It fetches page after page.
func (c *Client) ListModels(ctx context.Context, provider string, capabilities ...Capability) iter.Seq2[*ModelInfo, error] {
	return pages(func(token string) ([]*ModelInfo, string, error) {
		request := &pb.ListModelsRequest{Provider: provider, Capabilities: capabilities, PageToken: token}
		page, err := answered(ctx, request, c.catalog.ListModels)
		return page.GetModels(), page.GetNextPageToken(), err
	})
}

// GetLatestModel returns a provider's newest model that has all these capabilities. ErrNotFound if none has.
func (c *Client) GetLatestModel(ctx context.Context, provider string, capabilities ...Capability) (*ModelInfo, error) {
	request := &pb.GetLatestModelRequest{Provider: provider, Capabilities: capabilities}
	return answered(ctx, request, c.catalog.GetLatestModel)
}
