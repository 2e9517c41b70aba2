package api

import "time"

// OracleRun is the work of the oracle on one message. It does not contain what
// was said: that is in the conversation, which only its user can read.
type OracleRun struct {
	ID         string        `json:"runId"`
	Status     string        `json:"status" enum:"running,recovering,finished,aborted,failed,interrupted" doc:"interrupted: the server stopped in the middle."`
	By         string        `json:"by" doc:"DID of the collector."`
	Mine       bool          `json:"mine" doc:"You can read its conversation."`
	SessionID  string        `json:"sessionId,omitzero" doc:"The conversation, if it is yours."`
	Turn       int64         `json:"turn" doc:"Which message of the conversation it answers, from 1."`
	RequestID  string        `json:"requestId"`
	StartedAt  time.Time     `json:"startedAt"`
	EndedAt    time.Time     `json:"endedAt,omitzero"`
	DurationMS int64         `json:"durationMs,omitzero"`
	Model      string        `json:"model,omitzero" doc:"That was asked first."`
	Tokens     *OracleTokens `json:"tokens,omitzero" doc:"Once the run has ended, as far as the model counts them."`
	Cost       float64       `json:"cost,omitzero" doc:"What the server of the model says it cost, in its currency."`
	Credits    int64         `json:"credits,omitzero" doc:"What its user was charged, with the plugin credits."`
	Steps      []OracleStep  `json:"steps" doc:"The tools that were called, once the run has ended."`
	Error      string        `json:"error,omitzero" doc:"Why it failed, as whoever asked was told."`
	Join       string        `json:"join,omitzero" doc:"Where to join your own run while it is at work." example:"/runs/run_018f3a5e-0000-7000-8000-000000000000"`
}

// OracleTokens are the tokens a model took and gave.
type OracleTokens struct {
	Input     int `json:"input"`
	Output    int `json:"output"`
	Reasoning int `json:"reasoning,omitzero" doc:"Part of output."`
	Cached    int `json:"cached,omitzero" doc:"Part of input."`
}

// OracleStep is a call of a tool.
type OracleStep struct {
	Tool       string `json:"tool" example:"survey_progress"`
	DurationMS int64  `json:"durationMs"`
	Failed     bool   `json:"failed,omitzero"`
}
