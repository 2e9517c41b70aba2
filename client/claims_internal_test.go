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
	sends(t, `POST /v1/claims:simulate {"kind":"fuel-saved","protocol":"did:ixo:p"}`, func(ctx context.Context, c *Client) error {
		return fails(c.Claims.Simulate(ctx, ClaimSimulationDraft{Kind: "fuel-saved", Protocol: "did:ixo:p"}))
	})
	sends(t, `GET /v1/claim-simulations/1 `, func(ctx context.Context, c *Client) error { return fails(c.Claims.Simulation(ctx, "1")) })
	sends(t, `GET /v1/claim-simulations/1/claims `, func(ctx context.Context, c *Client) error {
		for _, err := range c.Claims.Simulated(ctx, "1") {
			return err
		}
		return nil
	})
	sends(t, `POST /v1/claims/bafk/lease `, func(ctx context.Context, c *Client) error { return fails(c.Claims.Take(ctx, "bafk")) })
	sends(t, `DELETE /v1/claims/bafk/lease `, func(ctx context.Context, c *Client) error { return fails(c.Claims.Release(ctx, "bafk")) })
	sends(t, `POST /v1/entities/did:ixo:o/evaluation-consent `, func(ctx context.Context, c *Client) error { return fails(c.Claims.Consent(ctx, "did:ixo:o")) })
	sends(t, `DELETE /v1/entities/did:ixo:o/evaluation-consent `, func(ctx context.Context, c *Client) error { return fails(c.Claims.Retract(ctx, "did:ixo:o")) })
	sends(t, `GET /v1/entities/did:ixo:o/evaluation-consent `, func(ctx context.Context, c *Client) error { return fails(c.Claims.Consents(ctx, "did:ixo:o")) })
	sends(t, `GET /v1/claim-queue?status=flagged `, func(ctx context.Context, c *Client) error {
		for _, err := range c.Claims.Queue(ctx, ClaimQuery{Status: "flagged"}) {
			return err
		}
		return nil
	})
}
