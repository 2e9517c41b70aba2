package client

import (
	"context"
	"testing"
)

func TestKitchenTests(t *testing.T) {
	t.Parallel()
	sends(t, `GET /v1/kpt/analysis?confidence=0.95&per=head&projectId=did%3Aixo%3Aentity%3A1 `, func(ctx context.Context, c *Client) error {
		return fails(c.KitchenTests.Analyse(ctx, KitchenTestFigures{ProjectID: "did:ixo:entity:1", Per: "head", Confidence: 0.95}))
	})
	sends(t, `DELETE /v1/kpt/k%2F1?reason=wrong `, func(ctx context.Context, c *Client) error {
		return fails(c.KitchenTests.Withdraw(ctx, "k/1", "wrong"))
	})
}
