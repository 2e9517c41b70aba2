package oracle

import (
	"net/http"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// stream writes the frames of a run to one client.
type stream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	any bool // a frame was sent
}

// openStream begins a stream. From here on the status is 200 and frames report
// everything. The header goes out with the first frame, or alone when that is
// not there yet: run.Join says so.
func openStream(w http.ResponseWriter, r *http.Request, runID, requestID string) *stream {
	s := &stream{w: w, rc: http.NewResponseController(w)}
	web.LeavePlace(r.Context())           // it waits more than it works
	_ = s.rc.SetReadDeadline(time.Time{}) // one left from the request would end the stream
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Connection", "keep-alive")
	h.Set("X-Accel-Buffering", "no") // proxies must not hold frames back
	setRun(w, r, runID, requestID)
	w.WriteHeader(http.StatusOK)
	return s
}

// setRun names the run of an answer. An id of the request that the client chose
// itself is echoed; otherwise the answer has the id that stands in the frames.
func setRun(w http.ResponseWriter, r *http.Request, runID, requestID string) {
	if runID != "" {
		w.Header().Set("X-Run-Id", runID)
	}
	if sentID(r) == "" && requestID != "" {
		w.Header().Set("X-Request-Id", requestID)
	}
}

// sentID is the id the client gave its request, "" when it gave none that
// counts.
func sentID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); id != "" && id == web.RequestID(r.Context()) {
		return id
	}
	return ""
}

// frame sends one frame, and all that were held back when nothing follows at
// once. What is held back at the end of a run goes out with the end of the
// answer.
func (s *stream) frame(f run.Frame) error {
	if _, err := s.w.Write(f.Data); err != nil {
		return err
	}
	s.any = s.any || f.ID > 0
	if f.More {
		return nil
	}
	return s.rc.Flush()
}

// places bounds the streams that are open at once, of one caller and of all.
type places struct {
	mu        sync.Mutex
	each, all int
	open      int
	byCaller  map[string]int
}

func newPlaces(each, all int) *places {
	return &places{each: each, all: all, byCaller: map[string]int{}}
}

// take takes a place for a caller. The fault is TOO_MANY_STREAMS.
func (p *places) take(who string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open >= p.all || p.byCaller[who] >= p.each {
		return nil, fault.New(fault.TooMany, "TOO_MANY_STREAMS", "Too many streams are open. Close one and try again.").After(5 * time.Second)
	}
	p.open++
	p.byCaller[who]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open--
		if p.byCaller[who]--; p.byCaller[who] == 0 {
			delete(p.byCaller, who)
		}
	}, nil
}
