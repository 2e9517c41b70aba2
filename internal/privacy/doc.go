// Package privacy keeps what is about people from those who may not know it,
// and takes it out when somebody is erased. It takes names, never a protocol or
// a template: which property or question is personal, the areas tell it.
//
// # Who sees what
//
// Of a twin (ADR 0019), whoever has the scope entities:pii, or controls the
// twin as themselves or through a group, sees the stored record. Everybody else
// sees it without the properties that any published version of its protocol has
// marked as personal, without what metadata has under their names, and with
// those names in withheld. In summaries, such as graphs, only the scope counts.
// A map shows them all places, rounded to 0.01 degrees.
// Nobody filters, sorts or searches by what they may not see, and in place of
// hashes they get an HMAC.
//
// Of a response (ADR 0015), whoever has the scope responses:pii sees all.
// Whoever has collected or sent it sees who it is about and what they added
// themselves, but not the sealed answers: those marked pii, and the place of
// the interview. Everybody else sees the public answers, a list of what is
// masked, and names made up for households, people and devices. On lists of
// households, whoever collects or manages (responses:write, surveys:write)
// sees who is who. Everybody knows themselves, and whoever decides about a
// response answers for it by DID.
//
// A verifier (responses:verify without responses:pii) sees as evidence the
// pictures, sounds and files of questions that are not marked direct, places
// rounded to 0.01 degrees, and distances between hidden places, unless it could
// move one of them. Exports below full have the made-up names, rounded places
// (0.1 degrees), and a reference in place of the id of a response.
//
// An operator with the store but not the server's key reads no sealed answer
// and takes back no made-up name. Nobody reads what was erased.
//
// # What does it
//
//   - Without and Drop: the record of a twin without what is withheld.
//   - Names and Sight: a household, person or device has one made-up name in
//     all reads and files of a project, and another in each project. RecordName
//     is the reference of a response.
//   - Package vault: personal answers are sealed under a key of the household,
//     that under one of the project, and that under the server's own. It knows
//     which households a workspace has erased: nothing new is stored about them,
//     and an erasure and those who store something wait for each other.
//   - Registry: what each column of the store can hold about a person, which
//     part takes it out when somebody is erased, and what stays. Whoever owns a
//     table declares it with Table; app joins the declarations, a test compares
//     them with the schema of both databases, and the certificate of an erasure
//     takes from them what it says about what stays.
package privacy
