package webhook

import (
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Channel describes what endpoints receive.
func Channel() web.Channel {
	return web.Channel{
		Name: "webhooks", Address: "{url}", Title: "Webhooks",
		About: "A POST to the address of each endpoint that wants the event, signed as Standard Webhooks ask. The types are those of the stream of events, and hearth.ping.",
		Sent:  []web.Message{{Name: "cloudevent", About: "A CloudEvents 1.0 message in structured JSON.", Payload: cloudEvent{}}},
	}
}

// cloudEvent is a CloudEvents 1.0 message in structured JSON.
type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject,omitzero"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Sequence        string    `json:"sequence,omitzero"` // extension; texts sort as the numbers do
	Data            eventData `json:"data"`
}

type eventData struct {
	Seq       int64        `json:"seq,omitzero"`
	Subject   string       `json:"subject,omitzero"`
	Revision  int64        `json:"revision,omitzero"`
	Actor     string       `json:"actor"`
	RequestID string       `json:"requestId,omitzero"`
	Details   event.Object `json:"details,omitzero"`
}

// message is the message to send: the same bytes under the same id each time.
type message struct {
	id   string
	body []byte
}

// messageOf renders an event of a workspace.
func messageOf(source, ws string, it event.Item) (message, error) {
	return render(cloudEvent{
		ID: fmt.Sprintf("evt_%s_%d", ws, it.Seq), Source: source + ":" + ws,
		Type: it.Type, Subject: it.Subject, Time: it.Time, Sequence: fmt.Sprintf("%019d", it.Seq),
		Data: eventData{Seq: it.Seq, Subject: it.Subject, Revision: it.Revision, Actor: it.Actor, RequestID: it.RequestID, Details: it.Data},
	})
}

// pingOf renders a test ping, which is not an event of the log.
func pingOf(source, ws, id, actor string, now time.Time) (message, error) {
	return render(cloudEvent{
		ID: "ping_" + id, Source: source + ":" + ws, Type: "webhook.ping", Time: now.UTC().Truncate(time.Millisecond),
		Data: eventData{Actor: actor},
	})
}

func render(e cloudEvent) (message, error) {
	e.SpecVersion, e.DataContentType = "1.0", "application/json"
	body, err := web.Encode(e)
	if err != nil {
		return message{}, err
	}
	return message{id: e.ID, body: body}, nil
}
