package client

import (
	"context"
	"testing"
)

func TestEmissions(t *testing.T) {
	t.Parallel()
	v := 30.0
	d := EmissionDraft{
		Module: "fuel-factor", Period: EmissionPeriod{From: "2026-01-01", To: "2026-12-31"},
		Inputs: map[string]EmissionInput{"quantity": {EmissionMember: EmissionMember{Value: &v, Unit: "kg"}}},
	}
	sends(t, `POST /v1/emissions:calculate {"module":"fuel-factor","period":{"from":"2026-01-01","to":"2026-12-31"},"inputs":{"quantity":{"value":30,"unit":"kg"}}}`,
		func(ctx context.Context, c *Client) error { return fails(c.Emissions.Calculate(ctx, d)) })
	sends(t, `POST /v1/analysis/household {"householdId":"did:ixo:household/1","periodStart":"2024-02-01","periodEnd":"2024-02-29"}`, func(ctx context.Context, c *Client) error {
		return fails(c.Households.Analyse(ctx, HouseholdAnalysisDraft{HouseholdID: "did:ixo:household/1", PeriodStart: "2024-02-01", PeriodEnd: "2024-02-29"}))
	})
	sends(t, `GET /v1/emissions/modules `, func(ctx context.Context, c *Client) error {
		for _, err := range c.Emissions.Modules(ctx) {
			return err
		}
		return nil
	})
}
