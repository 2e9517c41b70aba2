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
	sends(t, `GET /v1/kpt/analysis?format=svg&projectId=p `, func(ctx context.Context, c *Client) error {
		return fails(c.KitchenTests.Picture(ctx, KitchenTestFigures{ProjectID: "p"}))
	})
	sends(t, `GET /v1/surveys/s/cross-reference/x?format=svg&picture=differences `, func(ctx context.Context, c *Client) error {
		return fails(c.Quality.CrossPicture(ctx, "s", "x", true))
	})
}
