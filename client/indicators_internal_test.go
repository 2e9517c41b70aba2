package client

import (
	"context"
	"testing"
)

func TestIndicators(t *testing.T) {
	t.Parallel()
	sends(t, `GET /v1/projects/did:ixo:entity:1/indicators?fnrb=0.5&from=2024-01-01 `, func(ctx context.Context, c *Client) error {
		return fails(c.Statistics.ProjectIndicators(ctx, "did:ixo:entity:1", IndicatorQuery{From: "2024-01-01", FNRB: 0.5}))
	})
}
