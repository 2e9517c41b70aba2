package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/test/server"
)

// The bar of a small export behind the queue of another workspace: as many
// times as long as alone, and so much more.
const (
	behindBar   = 3.0
	behindSpare = 200 * time.Millisecond
)

// The exports of the other workspace.
const (
	queuedExports = 100
	queuedSize    = 20_000 // responses in each
)

// behind compares a small export alone with one behind a hundred large ones
// that another workspace has queued.
func (b *bench) behind(ctx context.Context) (err error) {
	queue, size := queuedExports, queuedSize
	if b.quick {
		queue, size = 8, 1000
	}
	dir, err := b.seedResponses(ctx, size)
	if err != nil {
		return err
	}
	s, err := server.Start(server.Options{Binary: b.binary, Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	greedy := s.Client(1)
	defer greedy.Close()
	modest, err := neighbour(ctx, greedy)
	if err != nil {
		return err
	}
	alone, err := b.exportTimes(ctx, modest)
	if err != nil {
		return err
	}
	var last string
	for range queue {
		if last, err = askExport(ctx, greedy); err != nil {
			return err
		}
	}
	crowded, err := b.exportTimes(ctx, modest)
	if err != nil {
		return err
	}
	rest, err := findJob(ctx, greedy, last)
	if err == nil && rest.Status != job.Queued && !b.quick {
		err = fmt.Errorf("the last export of the queue is %s: it was too short to stand behind", rest.Status)
	}
	if err != nil {
		return err
	}
	bar := behindBar*median(alone) + behindSpare.Seconds()
	got := median(crowded)
	fmt.Printf("alone %.3f s, behind %d exports of %d responses %.3f s   bar %.3f s %s\n", median(alone), queue, size, got, bar, b.verdict("export behind others", got <= bar))
	return nil
}

// neighbour opens a second workspace with a survey of one response.
func neighbour(ctx context.Context, operator *server.Client) (*server.Client, error) {
	a, err := post(ctx, operator, "/v1/workspaces", `{"id":"neighbour","name":"Neighbour"}`)
	if err != nil {
		return nil, err
	}
	var opened struct {
		OwnerKey struct {
			Key string `json:"key"`
		} `json:"ownerKey"`
	}
	if err := a.JSON(&opened); err != nil {
		return nil, err
	}
	c := *operator
	c.Key = opened.OwnerKey.Key
	if err := startSurvey(ctx, &c); err != nil {
		return nil, err
	}
	_, err = post(ctx, &c, "/v1/surveys/bench/responses", answer(0, time.Now()))
	return &c, err
}

// exportTimes is how many seconds each of five exports takes, from the request to the
// end of its job.
func (b *bench) exportTimes(ctx context.Context, c *server.Client) ([]float64, error) {
	var took []float64
	for range 5 {
		start := time.Now()
		path, err := askExport(ctx, c)
		if err != nil {
			return nil, err
		}
		if err := awaitJob(ctx, c, path); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start).Seconds())
	}
	return took, nil
}

// askExport asks for an export and returns the address of its job.
func askExport(ctx context.Context, c *server.Client) (string, error) {
	a, err := post(ctx, c, "/v1/surveys/bench/exports", `{"format":"csv"}`)
	if err != nil {
		return "", err
	}
	return a.Header.Get("Location"), nil
}

// awaitJob waits until a job has succeeded.
func awaitJob(ctx context.Context, c *server.Client, path string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		j, err := findJob(ctx, c, path)
		if err != nil || j.Status == job.Succeeded {
			return err
		}
		if j.Status.Final() {
			return fmt.Errorf("%s is %s", path, j.Status)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func findJob(ctx context.Context, c *server.Client, path string) (job.Job, error) {
	var j job.Job
	a, err := c.Do(ctx, "GET", path, nil)
	if err != nil {
		return j, err
	}
	if a.Status != 200 {
		return j, fmt.Errorf("GET %s: status %d: %s", path, a.Status, a.Body)
	}
	return j, a.JSON(&j)
}

// post sends a request that must work.
func post(ctx context.Context, c *server.Client, path, body string) (*server.Answer, error) {
	a, err := c.Do(ctx, "POST", path, []byte(body))
	if err == nil && a.Status >= 300 {
		err = fmt.Errorf("POST %s: status %d: %s", path, a.Status, a.Body)
	}
	return a, err
}
