package client

import (
	"context"
	"testing"
)

func TestClaims(t *testing.T) {
	t.Parallel()
	sends(t, `POST /v1/claims/did:ixo:a%2F1/withdraw {"reason":"wrong"}`, func(ctx context.Context, c *Client) error {
		return fails(c.Claims.Withdraw(ctx, "did:ixo:a/1", "wrong"))
	})
	sends(t, `GET /v1/claims/bafk `, func(ctx context.Context, c *Client) error { return fails(c.Claims.Get(ctx, "bafk")) })
}
