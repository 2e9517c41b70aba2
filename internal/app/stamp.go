package app

import (
	"context"
	"os"
	"time"
)

// stampEvery is how soon the server notices what the command line did: people
// look at a stream while they type.
const stampEvery = 200 * time.Millisecond

// watchStamp checks whether the command line has changed keys beside us. Their
// next request would show it anyway; open streams have none. With PostgreSQL
// there is no path, because the bus reports it.
func (c *Core) watchStamp(ctx context.Context, path string) {
	if path == "" {
		return
	}
	tick := time.NewTicker(stampEvery)
	defer tick.Stop()
	for last := fileSize(path); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if size := fileSize(path); size != last {
			last = size
			c.Auth.Flush()
			c.Events.WakeAll()
		}
	}
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
