package api

import "time"

// Task is something the oracle is asked at a set time, or again and again,
// while the user is away. Its answers are in the conversation SessionID.
type Task struct {
	ID        string    `json:"id" example:"task_0198b3c63a5e7c1f9b642f3c5f0a7d11"`
	Title     string    `json:"title" example:"Stoves that fell silent"`
	Prompt    string    `json:"prompt" doc:"What the oracle is asked." example:"Which stoves have sent nothing for a week?"`
	Cron      string    `json:"cron,omitempty" doc:"Five fields: minute, hour, day of the month, month, day of the week. Empty for a task that runs once." example:"0 7 * * MON"`
	At        time.Time `json:"at,omitzero" doc:"When a task runs that runs once."`
	Timezone  string    `json:"timezone" doc:"IANA name of the place whose clocks cron follows." example:"Africa/Nairobi"`
	Status    string    `json:"status" enum:"active,paused,done" doc:"done: it was to run once, and has."`
	Reason    string    `json:"reason,omitempty" doc:"Why the server has paused it."`
	NextRunAt time.Time `json:"nextRunAt,omitzero"`
	LastRunAt time.Time `json:"lastRunAt,omitzero" doc:"When it last ran."`
	LastRunID string    `json:"lastRunId,omitempty" doc:"The run that answered: GET /v1/oracle/runs/{id}."`
	LastError string    `json:"lastError,omitempty" doc:"Why it did not, the last time."`
	SessionID string    `json:"sessionId,omitempty" doc:"The conversation with its answers, once there is one."`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// TaskList is the tasks of a user, the newest first. Their number is limited.
type TaskList struct {
	Tasks []Task `json:"tasks"`
}

// TaskChange is a new task, or a change of one. Absent members stay unchanged.
type TaskChange struct {
	Title    *string `json:"title,omitempty" maxLength:"80" example:"Stoves that fell silent"`
	Prompt   *string `json:"prompt,omitempty" maxLength:"4000" example:"Which stoves have sent nothing for a week?"`
	Cron     *string `json:"cron,omitempty" maxLength:"100" doc:"Five fields; in place of at." example:"0 7 * * MON"`
	At       *string `json:"at,omitempty" doc:"When to run once, in place of cron: with an offset, or by the clocks of timezone."`
	Timezone *string `json:"timezone,omitempty" doc:"IANA name; by default x-timezone, and else UTC." example:"Africa/Nairobi"`
	Status   *string `json:"status,omitempty" enum:"active,paused" doc:"Pauses a task, or has it go on."`
}
