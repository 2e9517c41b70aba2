package openrosa

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// record is the part of a response that is read.
type record struct {
	ResponseID  string         `json:"responseId"`
	SurveyID    string         `json:"surveyId"`
	HouseholdID string         `json:"householdId"`
	DeviceID    string         `json:"deviceId"`
	Supersedes  string         `json:"supersedes"`
	StartedAt   time.Time      `json:"startedAt"`
	Timestamp   time.Time      `json:"timestamp"`
	Responses   jsontext.Value `json:"responses"`
}

// serveXML answers with a response as a device would have sent it, as far as the
// caller may read it. Faults: RESPONSE_NOT_FOUND, XFORM_NOT_POSSIBLE.
func (s *Service) serveXML(w http.ResponseWriter, r *http.Request) error {
	raw, err := s.cfg.Read(r.Context(), r.PathValue("responseId"))
	if err != nil {
		return err
	}
	var one record
	if err := json.Unmarshal(raw, &one); err != nil {
		return fmt.Errorf("read response: %w", err)
	}
	o, err := s.cfg.Surveys.Open(r.Context(), one.SurveyID)
	if err != nil {
		return err
	}
	f, err := s.formOf(o)
	if err != nil {
		return err
	}
	body := f.Instance(one.Responses, Submission{
		InstanceID: one.ResponseID, Deprecated: one.Supersedes, Household: one.HouseholdID, Device: one.DeviceID, Start: one.StartedAt, End: one.Timestamp,
	})
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Cache-Control", "private, no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the reader is gone when this fails
	return nil
}
