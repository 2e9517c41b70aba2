package job

import "github.com/hearth-dmrv/hearth/internal/privacy"

// Personal says what the tables of jobs can hold about a person.
func Personal() []privacy.Table {
	return []privacy.Table{
		{Name: "jobs", Rules: []privacy.Rule{
			privacy.None(privacy.Ours, "id ws kind dedupe status owner about"), privacy.None(privacy.Request, "request_id"),
			privacy.None("ids of what a job works on, how far it has come and what stood in its way; those who queue one put no names in it", "payload state result errors note"),
			privacy.Kept("", privacy.Acts, "created_by caller"),
		}},
		{Name: "job_slots", Rules: []privacy.Rule{privacy.None(privacy.Ours, "kind")}},
	}
}
