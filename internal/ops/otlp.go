package ops

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// How the exporter treats a collector.
const (
	exportTimeout = 10 * time.Second // one request
	exportTries   = 3
	flushTimeout  = 5 * time.Second // all that is left at the stop
)

// exporter sends batches of spans as OTLP over HTTP in its JSON form.
type exporter struct {
	url      string
	headers  map[string]string
	client   *http.Client
	resource otlpResource
	version  string
	batch    int
	every    time.Duration
	onError  func(error)
}

func newExporter(c TraceConfig) exporter {
	e := exporter{
		url: strings.TrimSuffix(c.Endpoint, "/") + "/v1/traces", headers: c.Headers, client: c.Client, version: c.Version,
		batch: orDefault(c.Batch, 256), every: orDefault(c.Every, 2*time.Second), onError: c.OnError,
		resource: otlpResource{Attributes: []otlpAttr{
			textAttr("service.name", c.Service), textAttr("service.version", c.Version),
		}},
	}
	if e.client == nil {
		e.client = &http.Client{
			Timeout: exportTimeout,
			// The headers may hold a token; it goes to the collector only.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if e.onError == nil {
		e.onError = func(error) {}
	}
	return e
}

// Run exports finished spans until ctx ends, then sends the rest, within five
// seconds. On a nil *Tracer it returns when ctx ends.
func (t *Tracer) Run(ctx context.Context) error {
	if t == nil {
		<-ctx.Done()
		return nil
	}
	// A request under way when ctx ends is let finish: sending its spans again
	// would store them twice.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(flushTimeout, cancel) })()
	ticker := time.NewTicker(t.export.every)
	defer ticker.Stop()
	var batch []*Span
	for {
		select {
		case s := <-t.queue:
			if batch = append(batch, s); len(batch) >= t.export.batch {
				batch = t.send(work, batch)
			}
		case <-ticker.C:
			batch = t.send(work, batch)
		case <-ctx.Done():
			t.flush(work, batch)
			return nil
		}
	}
}

// flush sends batch and the whole queue, until ctx ends.
func (t *Tracer) flush(ctx context.Context, batch []*Span) {
	for empty := false; !empty; {
		select {
		case s := <-t.queue:
			if batch = append(batch, s); len(batch) < t.export.batch {
				continue
			}
		default:
			empty = true
		}
		if left := t.send(ctx, batch); left != nil {
			t.dropped.Add(int64(len(left) + len(t.queue)))
			return
		}
		batch = nil
	}
}

// send exports one batch. It returns the batch when ctx ended before that was
// done; when the collector fails, the batch counts as dropped.
func (t *Tracer) send(ctx context.Context, batch []*Span) (left []*Span) {
	if len(batch) == 0 {
		return nil
	}
	rejected, err := t.export.send(ctx, batch)
	if err != nil {
		if ctx.Err() != nil {
			return batch
		}
		rejected = int64(len(batch))
		t.export.onError(fmt.Errorf("export %d spans: %w", len(batch), err))
	}
	t.dropped.Add(rejected)
	return nil
}

// send posts the batch, again when the collector asks for that. It returns how
// many spans the collector refused.
func (e exporter) send(ctx context.Context, batch []*Span) (int64, error) {
	body, err := json.Marshal(e.request(batch))
	if err != nil {
		return 0, fmt.Errorf("encode: %w", err)
	}
	wait := 100 * time.Millisecond
	for try := 1; ; try++ {
		rejected, again, err := e.post(ctx, body)
		if err == nil || !again || try == exportTries {
			return rejected, err
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(wait):
			wait *= 4
		}
	}
}

func (e exporter) post(ctx context.Context, body []byte) (rejected int64, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return 0, false, errors.New("the collector's address is not valid")
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range e.headers {
		req.Header.Set(name, value)
	}
	res, err := e.client.Do(req)
	if err != nil {
		return 0, true, err
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	switch {
	case res.StatusCode/100 == 2:
		return rejectedSpans(answer), false, nil
	case res.StatusCode == 429 || res.StatusCode == 502 || res.StatusCode == 503 || res.StatusCode == 504:
		return 0, true, fmt.Errorf("the collector answered %d", res.StatusCode)
	}
	return 0, false, fmt.Errorf("the collector answered %d", res.StatusCode)
}

// rejectedSpans reads the partial success of an answer; collectors write the
// number as text or as a number, or leave it out.
func rejectedSpans(answer []byte) int64 {
	var a struct {
		PartialSuccess struct {
			RejectedSpans any `json:"rejectedSpans"`
		} `json:"partialSuccess"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return 0
	}
	switch n := a.PartialSuccess.RejectedSpans.(type) {
	case float64:
		return int64(n)
	case string:
		v, _ := strconv.ParseInt(n, 10, 64)
		return v
	}
	return 0
}

// The messages below are the JSON form of OTLP: ids in hexadecimal, 64-bit
// numbers as text.
type (
	otlpRequest struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
	otlpResourceSpans struct {
		Resource   otlpResource     `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpResource struct {
		Attributes []otlpAttr `json:"attributes"`
	}
	otlpScopeSpans struct {
		Scope otlpScope  `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	otlpSpan struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		ParentID   string     `json:"parentSpanId,omitempty"`
		TraceState string     `json:"traceState,omitempty"`
		Name       string     `json:"name"`
		Kind       SpanKind   `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []otlpAttr `json:"attributes,omitempty"`
		Status     otlpStatus `json:"status"`
	}
	otlpStatus struct {
		Code    int    `json:"code,omitzero"` // 2 is an error
		Message string `json:"message,omitempty"`
	}
	otlpAttr struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		Text *string `json:"stringValue,omitempty"`
		Int  *string `json:"intValue,omitempty"`
	}
)

func textAttr(key, text string) otlpAttr { return otlpAttr{Key: key, Value: otlpValue{Text: &text}} }

func (e exporter) request(batch []*Span) otlpRequest {
	spans := make([]otlpSpan, len(batch))
	for i, s := range batch {
		spans[i] = s.otlp()
	}
	return otlpRequest{ResourceSpans: []otlpResourceSpans{{
		Resource:   e.resource,
		ScopeSpans: []otlpScopeSpans{{Scope: otlpScope{Name: "hearth", Version: e.version}, Spans: spans}},
	}}}
}

// otlp is the finished span as a message.
func (s *Span) otlp() otlpSpan {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := otlpSpan{
		TraceID: hex.EncodeToString(s.context.trace[:]), SpanID: hex.EncodeToString(s.context.span[:]), TraceState: s.context.state,
		Name: cleanText(s.name, 128), Kind: s.kind,
		Start: strconv.FormatInt(s.start.UnixNano(), 10), End: strconv.FormatInt(s.end.UnixNano(), 10),
	}
	if s.parent != [8]byte{} {
		out.ParentID = hex.EncodeToString(s.parent[:])
	}
	for _, a := range s.attrs {
		if a.isInt {
			n := strconv.FormatInt(a.num, 10)
			out.Attributes = append(out.Attributes, otlpAttr{Key: a.key, Value: otlpValue{Int: &n}})
			continue
		}
		out.Attributes = append(out.Attributes, textAttr(a.key, cleanText(a.text, maxText)))
	}
	if s.failed != "" {
		out.Status = otlpStatus{Code: 2, Message: cleanText(s.failed, 128)}
	}
	return out
}
