package bus

import (
	"context"
	"log/slog"
	"time"
)

// NewPostgresPing is NewPostgres with a shorter wait before a silent
// connection is asked whether it lives.
func NewPostgresPing(ctx context.Context, url string, log *slog.Logger, ping time.Duration) (*Postgres, error) {
	return newPostgres(ctx, url, log, ping)
}

// MaxQueue is how many messages wait for a slow subscriber.
const MaxQueue = maxQueue
