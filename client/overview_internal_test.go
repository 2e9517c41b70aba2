package client

import (
	"context"
	"testing"
	"time"
)

func TestOverviewCalls(t *testing.T) {
	t.Parallel()
	for want, call := range map[string]func(context.Context, *Client) error{
		"GET /v1/names?did=did%3Aixo%3Ax%2F1%2Cdid%3Aixo%3Ay ": func(ctx context.Context, c *Client) error {
			return fails(c.Names(ctx, []string{"did:ixo:x/1", "did:ixo:y"}))
		},
		"GET /v1/search?q=st+7 ": func(ctx context.Context, c *Client) error { return fails(c.Search(ctx, "st 7")) },
		"GET /v1/entities/did:ixo:x%2F1/timeline?before=2026-01-31T08%3A00%3A00Z&cursor=c&limit=5 ": func(ctx context.Context, c *Client) error {
			before := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
			return fails(c.Entities.Timeline(ctx, "did:ixo:x/1", TimelineQuery{Before: before, PageQuery: PageQuery{Limit: 5, Cursor: "c"}}))
		},
		"GET /v1/counts ": func(ctx context.Context, c *Client) error { return fails(c.Counts(ctx)) },
		`POST /v1/responses:next {"after":"r1"}`: func(ctx context.Context, c *Client) error {
			return fails(c.Verifications.Next(ctx, DeskTurn{After: "r1"}))
		},
	} {
		sends(t, want, call)
	}
}
