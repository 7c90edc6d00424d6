BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0012');
CREATE TABLE attempts (
	number INTEGER NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	name TEXT NOT NULL, 
	address TEXT NOT NULL, 
	PRIMARY KEY (number)
);
CREATE TABLE audit (
	number INTEGER NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	actor TEXT NOT NULL, 
	action VARCHAR(24) NOT NULL, 
	subject TEXT, 
	address TEXT, chain VARCHAR(64), 
	PRIMARY KEY (number)
);
INSERT INTO "audit" VALUES(1,'2026-11-15T15:59:23.526064Z','local','add collection','e9aa7feaa7e769e1',NULL,NULL);
INSERT INTO "audit" VALUES(2,'2026-11-15T15:59:23.600608Z','local','add plan','f89b6523c0a911f4',NULL,NULL);
INSERT INTO "audit" VALUES(3,'2026-11-15T15:59:23.768405Z','local','erase case','golden-3',NULL,NULL);
INSERT INTO "audit" VALUES(4,'2026-11-15T15:59:24.358327Z','local','add user','ada (admin)',NULL,NULL);
CREATE TABLE cases (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	"plan" VARCHAR(16) NOT NULL, 
	label TEXT, 
	at VARCHAR(27) NOT NULL, 
	actor TEXT NOT NULL, state VARCHAR(8) DEFAULT 'open' NOT NULL, rounds INTEGER DEFAULT '0' NOT NULL, waiting INTEGER DEFAULT '0' NOT NULL, site VARCHAR(64), rings BOOLEAN DEFAULT 0 NOT NULL, split VARCHAR(16), 
	PRIMARY KEY (number), 
	UNIQUE (id), 
	FOREIGN KEY("plan") REFERENCES plans (id)
);
INSERT INTO "cases" VALUES(1,'golden-1','f89b6523c0a911f4','bed 1','2026-11-15T15:59:23.672810Z','local','open',6,1,NULL,0,NULL);
INSERT INTO "cases" VALUES(2,'golden-2','f89b6523c0a911f4',NULL,'2026-11-15T15:59:23.752881Z','local','closed',1,0,NULL,0,NULL);
INSERT INTO "cases" VALUES(3,'golden-3','f89b6523c0a911f4',NULL,'2026-11-15T15:59:23.761332Z','local','erased',1,0,NULL,0,NULL);
CREATE TABLE collections (
	id VARCHAR(16) NOT NULL, 
	name TEXT NOT NULL, 
	document TEXT NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	actor TEXT NOT NULL, site VARCHAR(64), 
	PRIMARY KEY (id)
);
INSERT INTO "collections" VALUES('e9aa7feaa7e769e1','clinic','{
  "schema": "banditree/collection/1",
  "tasks": ["mild", "severe"],
  "arms": ["A", "B"],
  "rewards": {"family": "bernoulli"},
  "means": [
    [0.9, 0.1],
    [0.1, 0.8]
  ],
  "radius": 0.0,
  "provenance": "known"
}
','2026-11-15T15:59:23.525603Z','local',NULL);
CREATE TABLE events (
	"case" INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	kind VARCHAR(10) NOT NULL, 
	round INTEGER, 
	arm TEXT, 
	reward FLOAT, 
	details TEXT, 
	at VARCHAR(27) NOT NULL, 
	actor TEXT NOT NULL, proof VARCHAR(64), line INTEGER, 
	PRIMARY KEY ("case", seq), 
	FOREIGN KEY("case") REFERENCES cases (number)
)
 WITHOUT ROWID

;
INSERT INTO "events" VALUES(1,1,'asked',1,'A',NULL,NULL,'2026-11-15T15:59:23.715934Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,2,'asked',2,'A',NULL,NULL,'2026-11-15T15:59:23.715973Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,3,'asked',3,'A',NULL,NULL,'2026-11-15T15:59:23.715979Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,4,'asked',4,'A',NULL,NULL,'2026-11-15T15:59:23.715984Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,5,'told',1,NULL,1.0,NULL,'2026-11-15T15:59:23.726862Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,6,'missing',2,NULL,NULL,NULL,'2026-11-15T15:59:23.730631Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,7,'told',3,NULL,1.0,NULL,'2026-11-15T15:59:23.732540Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,8,'told',4,NULL,1.0,NULL,'2026-11-15T15:59:23.734333Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,9,'corrected',3,NULL,0.0,'{"reason": "typed wrongly"}','2026-11-15T15:59:23.736878Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,10,'overridden',5,'B',NULL,'{"reason": "A is out of stock"}','2026-11-15T15:59:23.739532Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,11,'told',5,NULL,1.0,NULL,'2026-11-15T15:59:23.741192Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,12,'noted',NULL,NULL,NULL,'{"text": "zoë ✓"}','2026-11-15T15:59:23.743172Z','local',NULL,NULL);
INSERT INTO "events" VALUES(1,13,'asked',6,'A',NULL,NULL,'2026-11-15T15:59:23.749267Z','local',NULL,NULL);
INSERT INTO "events" VALUES(2,1,'asked',1,'A',NULL,NULL,'2026-11-15T15:59:23.755362Z','local',NULL,NULL);
INSERT INTO "events" VALUES(2,2,'told',1,NULL,0.0,NULL,'2026-11-15T15:59:23.757745Z','local',NULL,NULL);
INSERT INTO "events" VALUES(2,3,'closed',NULL,NULL,NULL,'{"reason": "moved away"}','2026-11-15T15:59:23.759778Z','local',NULL,NULL);
INSERT INTO "events" VALUES(3,1,'asked',1,NULL,NULL,NULL,'2026-11-15T15:59:23.763474Z','local',NULL,NULL);
INSERT INTO "events" VALUES(3,2,'told',1,NULL,NULL,NULL,'2026-11-15T15:59:23.765261Z','local',NULL,NULL);
INSERT INTO "events" VALUES(3,3,'erased',NULL,NULL,NULL,NULL,'2026-11-15T15:59:23.767188Z','local',NULL,NULL);
CREATE TABLE files (
	id VARCHAR(16) NOT NULL, 
	name TEXT NOT NULL, 
	size INTEGER NOT NULL, 
	content BLOB NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	actor TEXT NOT NULL, 
	site VARCHAR(64), 
	PRIMARY KEY (id)
);
CREATE TABLE jobs (
	number INTEGER NOT NULL, 
	id VARCHAR(16) NOT NULL, 
	kind VARCHAR(40) NOT NULL, 
	"key" VARCHAR(64), 
	subject TEXT, 
	settings TEXT NOT NULL, 
	seconds INTEGER NOT NULL, 
	megabytes INTEGER NOT NULL, 
	state VARCHAR(12) NOT NULL, 
	wish VARCHAR(8), 
	tries INTEGER NOT NULL, 
	worker TEXT, 
	beat VARCHAR(27), 
	done INTEGER NOT NULL, 
	total INTEGER NOT NULL, 
	best FLOAT, 
	text TEXT NOT NULL, 
	result TEXT, 
	problem TEXT, 
	at VARCHAR(27) NOT NULL, 
	actor TEXT NOT NULL, 
	began VARCHAR(27), 
	ended VARCHAR(27), found TEXT, site VARCHAR(64), 
	PRIMARY KEY (number), 
	UNIQUE (id), 
	UNIQUE ("key")
);
CREATE TABLE plans (
	id VARCHAR(16) NOT NULL, 
	name TEXT NOT NULL, 
	collection VARCHAR(16), 
	document TEXT NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	actor TEXT NOT NULL, site VARCHAR(64), signed_at VARCHAR(27), signed_by TEXT, comment TEXT, replaces VARCHAR(16), gave_way_to VARCHAR(16), 
	PRIMARY KEY (id), 
	FOREIGN KEY(collection) REFERENCES collections (id)
);
INSERT INTO "plans" VALUES('f89b6523c0a911f4','clinic','e9aa7feaa7e769e1','{
  "schema": "banditree/plan/1",
  "method": "tree",
  "horizon": 100,
  "arms": ["A", "B"],
  "tasks": ["mild", "severe"],
  "rewards": {"family": "bernoulli"},
  "separation": 0.8,
  "radius": 0.0,
  "vocabulary": {"arm": "arm", "task": "task", "success": "success", "failure": "failure", "reward": "reward", "give": "Give"},
  "versions": {"banditree": "0.1.0", "python": "3.11.7", "numpy": "2.4.6"},
  "features": [],
  "boxes": [
    {"kind": "fixed", "box": 1, "arm": "A", "pulls": 17, "at_most": 8.0, "low": 2, "high": 3, "possible": ["mild", "severe"]},
    {"kind": "exploit", "box": 2, "arm": "B", "task": "severe", "possible": ["severe"]},
    {"kind": "exploit", "box": 3, "arm": "A", "task": "mild", "possible": ["mild"]}
  ]
}
','2026-11-15T15:59:23.600138Z','local',NULL,'2026-11-15T15:59:23.600138Z','local','On record before plans were signed.',NULL,NULL);
CREATE TABLE secrets (
	id VARCHAR(16) NOT NULL, 
	kind VARCHAR(8) NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	user TEXT NOT NULL, 
	role VARCHAR(8) NOT NULL, 
	name TEXT NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	expires VARCHAR(27), 
	revoked BOOLEAN NOT NULL, parent VARCHAR(16), 
	PRIMARY KEY (id), 
	UNIQUE (hash), 
	FOREIGN KEY(user) REFERENCES users (name)
);
CREATE TABLE snapshots (
	"case" INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	content TEXT NOT NULL, 
	PRIMARY KEY ("case"), 
	FOREIGN KEY("case") REFERENCES cases (number)
);
CREATE TABLE splits (
	id VARCHAR(16) NOT NULL, 
	old VARCHAR(16) NOT NULL, 
	new VARCHAR(16) NOT NULL, 
	share FLOAT NOT NULL, 
	rounds INTEGER NOT NULL, 
	seed INTEGER NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	actor TEXT NOT NULL, 
	comment TEXT NOT NULL, 
	ended_at VARCHAR(27), 
	ended_by TEXT, 
	kept VARCHAR(16), 
	end_comment TEXT, 
	site VARCHAR(64), 
	PRIMARY KEY (id), 
	FOREIGN KEY(old) REFERENCES plans (id), 
	FOREIGN KEY(new) REFERENCES plans (id)
);
CREATE TABLE studies (
	id VARCHAR(16) NOT NULL, 
	name TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	content TEXT NOT NULL, 
	at VARCHAR(27) NOT NULL, 
	actor TEXT NOT NULL, 
	changed VARCHAR(27) NOT NULL, 
	changed_by TEXT NOT NULL, 
	site VARCHAR(64), 
	PRIMARY KEY (id)
);
CREATE TABLE trail (
	id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	chain VARCHAR(64) NOT NULL, 
	began INTEGER NOT NULL, 
	old_lines INTEGER NOT NULL, 
	old_events INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "trail" VALUES(1,4,'8f982f432da64823b32ca03a4176162a60f298adfa894e0a99593a5143262339',4,4,19);
CREATE TABLE users (
	name TEXT NOT NULL, 
	role VARCHAR(8) NOT NULL, 
	password TEXT NOT NULL, 
	disabled BOOLEAN NOT NULL, 
	at VARCHAR(27) NOT NULL, subject TEXT, site VARCHAR(64), 
	PRIMARY KEY (name)
);
INSERT INTO "users" VALUES('ada','admin','$argon2id$v=19$m=65536,t=3,p=4$HEsLQBfmmCGtz/m0ASqvuw$+uy2N76LuUMAhnds8nebwoS8Kq1SoPlyz+rBh+H2pcM',0,'2026-11-15T15:59:24.357366Z',NULL,NULL);
CREATE UNIQUE INDEX one_outcome ON events ("case", round) WHERE kind IN ('told', 'missing');
CREATE INDEX audit_by_action ON audit (action, at);
CREATE INDEX jobs_by_state ON jobs (state, number);
CREATE INDEX jobs_by_subject ON jobs (subject);
CREATE INDEX cases_by_state ON cases (state, number);
CREATE INDEX cases_by_plan ON cases ("plan", number);
CREATE INDEX cases_waiting ON cases (number) WHERE waiting > 0;
CREATE INDEX attempts_by_time ON attempts (at);
CREATE UNIQUE INDEX users_by_subject ON users (subject);
CREATE INDEX cases_by_site ON cases (site, number);
CREATE UNIQUE INDEX one_successor ON plans (replaces) WHERE signed_at IS NOT NULL;
CREATE INDEX cases_ringing ON cases (number) WHERE rings;
CREATE UNIQUE INDEX one_split_old ON splits (old) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX one_split_new ON splits (new) WHERE ended_at IS NULL;
COMMIT;
