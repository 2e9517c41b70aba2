package client

import (
	"context"
	"io"
	"testing"
)

func TestStatistics(t *testing.T) {
	t.Parallel()
	q := StatisticsQuery{Question: "home/fuel", Statistic: "quantile", Q: 0.9, Round: 2, Verified: true}
	sends(t, `GET /v1/surveys/s1/statistics?q=0.9&question=home%2Ffuel&round=2&statistic=quantile&verified=true `, func(ctx context.Context, c *Client) error {
		return fails(c.Statistics.Get(ctx, "s1", q))
	})
	sends(t, `GET /v1/surveys/s1/statistics/questions?language=sw `, func(ctx context.Context, c *Client) error {
		return fails(c.Statistics.Questions(ctx, "s1", "sw"))
	})
	for want, open := range map[string]func(context.Context, *Client) (io.ReadCloser, error){
		`GET /v1/surveys/s1/statistics?by=group&format=svg&question=home%2Ffuel `: func(ctx context.Context, c *Client) (io.ReadCloser, error) {
			return c.Statistics.Picture(ctx, "s1", StatisticsQuery{Question: "home/fuel", By: "group"})
		},
		`GET /v1/surveys/s1/report?language=sw&questions=home%2Ffuel%2Chome%2Fuses&round=2&verified=true `: func(ctx context.Context, c *Client) (io.ReadCloser, error) {
			return c.Statistics.Report(ctx, "s1", ReportQuery{Questions: []string{"home/fuel", "home/uses"}, Round: 2, Verified: true, Language: "sw"})
		},
	} {
		sends(t, want, func(ctx context.Context, c *Client) error {
			body, err := open(ctx, c)
			if err == nil {
				err = body.Close()
			}
			return err
		})
	}
}
