package api

import "time"

// HealthSummary is the state of a server, for its operators.
type HealthSummary struct {
	Status      string            `json:"status" doc:"ready, or not ready when a check says why." enum:"ready,not ready"`
	Checks      map[string]string `json:"checks" doc:"ok, or what is wrong, by part."`
	Durability  string            `json:"durability" doc:"What a 2xx on a write means." example:"sqlite synchronous=FULL"`
	Version     string            `json:"version" example:"0.1.0"`
	Environment string            `json:"environment" example:"development"`
	StartedAt   time.Time         `json:"startedAt"`
	Uptime      int64             `json:"uptime" doc:"Seconds since the start."`
	Disk        *Disk             `json:"disk,omitempty" doc:"Of the data folder; absent where the system does not say."`
	Store       StoreHealth       `json:"store"`
	LastBackup  *Backup           `json:"lastBackup,omitempty" doc:"The newest in the backup folder; absent when there is none."`
	LastHour    HourCounts        `json:"lastHour"`
}

// Disk is the space on a disk.
type Disk struct {
	FreeBytes  int64 `json:"freeBytes"`
	TotalBytes int64 `json:"totalBytes"`
}

// StoreHealth is the state of the store.
type StoreHealth struct {
	Bytes    int64 `json:"bytes,omitzero" doc:"Of the SQLite file and its log; absent with PostgreSQL."`
	Queued   int64 `json:"queued" doc:"Writes waiting for their turn now."`
	Failures int64 `json:"failures" doc:"Writes that failed since the start."`
}

// HourCounts counts the answers of the last hour by kind.
type HourCounts struct {
	Requests int64 `json:"requests"`
	Refused  int64 `json:"refused" doc:"Answered with 4xx."`
	Failed   int64 `json:"failed" doc:"Answered with 5xx."`
}

// Mishap is a request the server could not answer.
type Mishap struct {
	At         time.Time `json:"at"`
	RequestID  string    `json:"requestId" doc:"Under it the server's own log says more."`
	Method     string    `json:"method"`
	Route      string    `json:"route" doc:"The pattern of the path, without what was in it."`
	Status     int       `json:"status"`
	DurationMS int64     `json:"durationMs"`
}

// Setting is a setting of the server with its current value.
type Setting struct {
	Name    string `json:"name" example:"PORT"`
	Group   string `json:"group" example:"Server"`
	Value   string `json:"value" doc:"Hidden when it is a secret; empty when nothing is set."`
	Default string `json:"default,omitzero"`
	About   string `json:"about"`
	Secret  bool   `json:"secret,omitzero"`
	Source  string `json:"source" doc:"Where the value comes from." example:"default"`
}

// Node is a server that works on the store.
type Node struct {
	ID        string    `json:"id" doc:"New with every start."`
	Name      string    `json:"name" doc:"Of its host." example:"hearth-1"`
	Version   string    `json:"version" example:"0.1.0"`
	Schema    int       `json:"schema" doc:"Newest migration its program knows." example:"82"`
	State     string    `json:"state" doc:"draining is about to stop; silent was not heard for more than 3 seconds." enum:"live,draining,silent"`
	Self      bool      `json:"self,omitzero" doc:"It is the one that answers."`
	StartedAt time.Time `json:"startedAt"`
	BeatAt    time.Time `json:"beatAt" doc:"When it was last heard, by the clock of the database."`
	SilentMS  int64     `json:"silentMs" doc:"Milliseconds since then." example:"412"`
	SkewMS    int64     `json:"skewMs" doc:"Milliseconds its clock is ahead of the database's; below 0 it is behind." example:"-3"`
}

// Backup is a copy of the store in the backup folder.
type Backup struct {
	ID         string    `json:"id" doc:"Name of its file." example:"hearth-20261115T001836Z.db"`
	At         time.Time `json:"at"`
	Bytes      int64     `json:"bytes"`
	VerifiedAt time.Time `json:"verifiedAt,omitzero" doc:"When it was last found whole."`
}
