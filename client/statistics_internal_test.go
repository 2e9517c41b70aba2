package client

import (
	"context"
	"testing"
)

func TestStatistics(t *testing.T) {
	t.Parallel()
	q := StatisticsQuery{Question: "home/fuel", Statistic: "quantile", Q: 0.9, Round: 2, Verified: true}
	sends(t, `GET /v1/surveys/s1/statistics?q=0.9&question=home%2Ffuel&round=2&statistic=quantile&verified=true `, func(ctx context.Context, c *Client) error {
		return fails(c.Statistics.Get(ctx, "s1", q))
	})
}
