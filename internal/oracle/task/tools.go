package task

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/plugin"
)

// members are what create_task and update_task take.
const members = `"title":{"type":"string","maxLength":80,"description":"A few words."},` +
	`"prompt":{"type":"string","maxLength":4000,"description":"What you will be asked then, complete in itself: nobody is there to explain."},` +
	`"cron":{"type":"string","maxLength":100,"description":"For again and again: five fields, minute hour day-of-month month day-of-week, by the clocks of timezone."},` +
	`"at":{"type":"string","maxLength":40,"description":"For once: 2027-01-31T07:00 by the clocks of timezone, or with an offset."},` +
	`"timezone":{"type":"string","maxLength":64,"description":"IANA name; by default that of the user's page, else UTC."}`

// listed is what list_tasks gives.
const listed = `{"type":"object","required":["tasks"],"properties":{"tasks":{"type":"array","items":{"type":"object","required":["id","title","prompt","timezone","status"],"properties":{` +
	`"id":{"type":"string"},"title":{"type":"string"},"prompt":{"type":"string"},"cron":{"type":"string"},"at":{"type":"string"},"timezone":{"type":"string"},` +
	`"status":{"enum":["active","paused","done"]},"reason":{"type":"string","description":"Why it is paused."},"nextRunAt":{"type":"string"},"lastRunAt":{"type":"string"},` +
	`"lastRunId":{"type":"string"},"lastError":{"type":"string"},"sessionId":{"type":"string"},"createdAt":{"type":"string"},"updatedAt":{"type":"string"}}}}}}`

// Tools are the tools of the model.
func (p *Plugin) Tools() []plugin.Tool {
	return []plugin.Tool{
		{
			Name: "create_task", Description: "Schedule something that you will be asked later, once (at) or again and again (cron), while the user is not there. Tell them when it runs next and in which time zone.",
			Schema: `{"type":"object","additionalProperties":false,"required":["title","prompt"],"properties":{` + members + `}}`,
			Run: func(ctx context.Context, c plugin.Call) (any, error) {
				var in api.TaskChange
				if err := c.Read(&in); err != nil {
					return nil, err
				}
				return p.create(ctx, in, "call "+c.RunID+" "+c.ID)
			},
		},
		{
			Name: "list_tasks", Description: "List what the user has scheduled: when it runs next, how it went the last time, and why it is paused.", ReadOnly: true, Output: listed,
			Run: func(ctx context.Context, _ plugin.Call) (any, error) { return p.list(ctx) },
		},
		{
			Name: "update_task", Description: "Change, pause or resume a scheduled task. Members that are not given stay.",
			Schema: `{"type":"object","additionalProperties":false,"required":["id"],"minProperties":2,"properties":{"id":{"type":"string","maxLength":64},"status":{"enum":["active","paused"]},` + members + `}}`,
			Run: func(ctx context.Context, c plugin.Call) (any, error) {
				var in struct {
					ID string `json:"id"`
					api.TaskChange
				}
				if err := c.Read(&in); err != nil {
					return nil, err
				}
				return p.update(ctx, in.ID, in.TaskChange)
			},
		},
		{
			Name: "cancel_task", Description: "Cancel a scheduled task for good. What it has answered stays.",
			Schema: `{"type":"object","additionalProperties":false,"required":["id"],"properties":{"id":{"type":"string","maxLength":64}}}`,
			Run: func(ctx context.Context, c plugin.Call) (any, error) {
				var in struct {
					ID string `json:"id"`
				}
				if err := c.Read(&in); err != nil {
					return nil, err
				}
				return "The task is cancelled.", p.cancel(ctx, in.ID)
			},
		},
	}
}

// note is the answer of a route that has nothing to show.
type note struct {
	Message string `json:"message"`
}

// Routes are the routes for programs.
func (p *Plugin) Routes() []plugin.Route {
	title, prompt, cron, zone, stop := "Stoves that fell silent", "Which stoves have sent nothing for a week?", "0 7 * * MON", "Africa/Nairobi", paused
	return []plugin.Route{
		{
			Method: "GET", Path: "/tasks", Personal: true, Summary: "List your scheduled tasks, newest first", Answer: api.TaskList{},
			Serve: func(r *plugin.Request) (any, error) { return p.list(r.Context()) },
		},
		{
			Method: "POST", Path: "/tasks", Personal: true, Summary: "Schedule a task", Answer: api.Task{}, Body: api.TaskChange{Title: &title, Prompt: &prompt, Cron: &cron, Timezone: &zone},
			Description: "The prompt is sent to the oracle at each time of cron, or once at the time at; the answers are in the conversation sessionId. The oracle acts with the rights you have then; tools that change something need a grant (PUT /grants/{tool}), since nobody can be asked. " +
				"If your credential is no longer valid, the task pauses and says why. One run makes up for all times that pass while the server is down, and each time is asked once; an answer that a crash cuts off ends as interrupted and is not repeated. " +
				"Send the same Idempotency-Key again to get the task that was made.",
			Serve: func(r *plugin.Request) (any, error) {
				var in api.TaskChange
				if err := r.Read(&in); err != nil {
					return nil, err
				}
				key := r.Header.Get("Idempotency-Key")
				if len(key) > 255 {
					return nil, plugin.Invalid("The Idempotency-Key must have at most 255 characters.")
				}
				if key != "" {
					key = "key " + key
				}
				return p.create(r.Context(), in, key)
			},
		},
		{
			Method: "GET", Path: "/tasks/{taskId}", Personal: true, Summary: "Read a scheduled task", Answer: api.Task{},
			Serve: func(r *plugin.Request) (any, error) { return p.read(r.Context(), r.PathValue("taskId")) },
		},
		{
			Method: "PATCH", Path: "/tasks/{taskId}", Personal: true, Summary: "Change, pause or resume a scheduled task", Answer: api.Task{}, Body: api.TaskChange{Status: &stop},
			Description: "Absent members stay unchanged. From then on the task runs with the credential of this request.",
			Serve: func(r *plugin.Request) (any, error) {
				var in api.TaskChange
				if err := r.Read(&in); err != nil {
					return nil, err
				}
				return p.update(r.Context(), r.PathValue("taskId"), in)
			},
		},
		{
			Method: "DELETE", Path: "/tasks/{taskId}", Personal: true, Summary: "Cancel a scheduled task", Answer: note{}, Description: "Its conversation stays.",
			Serve: func(r *plugin.Request) (any, error) {
				return note{"Task cancelled"}, p.cancel(r.Context(), r.PathValue("taskId"))
			},
		},
	}
}

func (p *Plugin) list(ctx context.Context) (api.TaskList, error) {
	out := api.TaskList{Tasks: []api.Task{}}
	owner, err := ownerOf(ctx)
	if err != nil {
		return out, err
	}
	found, err := list(ctx, p.from.DB, owner.User, p.limit)
	for i := range found {
		out.Tasks = append(out.Tasks, found[i].show())
	}
	return out, err
}

func (p *Plugin) read(ctx context.Context, id string) (api.Task, error) {
	owner, err := ownerOf(ctx)
	if err != nil {
		return api.Task{}, err
	}
	t, err := find(ctx, p.from.DB, owner.User, id)
	if err != nil {
		return api.Task{}, err
	}
	return t.show(), nil
}

func (p *Plugin) cancel(ctx context.Context, id string) error {
	owner, err := ownerOf(ctx)
	if err != nil {
		return err
	}
	return remove(ctx, p.from.DB, owner.User, id)
}
