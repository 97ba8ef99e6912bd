use std::{fs, process::Command, sync::Barrier};

use super::*;

/// A repository in a folder of its own, reachable as `https://github.com/team/tools`.
struct Fixture {
    dir: tempfile::TempDir,
    git: GitClient,
    repo: RepoAddress,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("team/tools.git");
        fs::create_dir_all(&work).unwrap();
        let base = format!("file://{}/", dir.path().display());
        let bases = vec![("https://github.com/".to_owned(), base)];
        let git = GitClient { bases, ..GitClient::new(&dir.path().join("cache")) };
        let fixture = Self { dir, git, repo: RepoAddress::parse("team/tools").unwrap() };
        fixture.run(&["init", "--quiet", "--initial-branch=main"]);
        fixture
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("team/tools.git")
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .arg("-C")
            .arg(self.work())
            .args(arguments)
            .env_remove("GIT_DIR")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, file: &str, text: &str) -> String {
        fs::write(self.work().join(file), text).unwrap();
        self.run(&["add", "-A"]);
        self.run(&["commit", "--quiet", "-m", "change"]);
        self.run(&["rev-parse", "HEAD"])
    }

    fn snapshot(&self, revision: &GitRevision) -> Result<CommitSnapshot, GitError> {
        self.git.snapshot(&self.repo, revision)
    }

    /// As if the network were gone.
    fn unplug(&self) {
        fs::rename(self.work(), self.dir.path().join("gone")).unwrap();
    }
}

fn version(name: &str) -> GitRevision {
    GitRevision::Version(name.to_owned())
}

#[test]
fn the_newest_release_a_version_a_branch_and_a_commit_each_lead_to_their_files() {
    let fixture = Fixture::new();
    let first = fixture.commit("a.txt", "one");
    assert_eq!(fixture.snapshot(&GitRevision::Newest).unwrap().commit, first);
    fixture.run(&["tag", "-a", "-m", "release", "v1.2.0"]);
    let second = fixture.commit("a.txt", "two");
    fixture.run(&["tag", "v1.10.0"]);
    let third = fixture.commit("a.txt", "three");

    let newest = fixture.snapshot(&GitRevision::Newest).unwrap();
    assert_eq!((newest.commit.as_str(), newest.version.as_deref()), (&*second, Some("v1.10.0")));
    assert_eq!(fs::read_to_string(newest.path.join("a.txt")).unwrap(), "two");
    assert!(!newest.path.join(".git").exists());
    assert_eq!(fixture.snapshot(&version("1.2.0")).unwrap().commit, first);
    assert_eq!(fixture.snapshot(&version("main")).unwrap().commit, third);
    // A shortened hash that no name leads to needs the history.
    let middle = fixture.commit("b.txt", "no name leads here");
    fixture.commit("b.txt", "last");
    let short = GitRevision::from_request(None, middle.get(..10)).unwrap();
    assert_eq!(fixture.snapshot(&short).unwrap().commit, middle);
    let left: Vec<_> =
        fs::read_dir(fixture.git.folder(&fixture.repo).join("stage")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_known_commit_needs_no_network() {
    let fixture = Fixture::new();
    let commit = fixture.commit("a.txt", "one");
    fixture.snapshot(&GitRevision::Newest).unwrap();
    fixture.unplug();
    let known = fixture.snapshot(&GitRevision::Commit(commit.clone())).unwrap();
    assert_eq!(fs::read_to_string(known.path.join("a.txt")).unwrap(), "one");
    assert_eq!(fixture.git.cached(&fixture.repo, &commit), Some(known.path));
    let error = fixture.snapshot(&GitRevision::Newest).unwrap_err();
    assert!(matches!(error, GitError::NoSuchRepository { .. }), "{error}");
    assert_eq!(fixture.git.cached(&fixture.repo, "../../etc"), None);
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let fixture = Fixture::new();
    let error = fixture.snapshot(&GitRevision::Newest).unwrap_err();
    assert!(matches!(error, GitError::Empty { .. }), "{error}");
    fixture.commit("a.txt", "one");
    fixture.run(&["tag", "v1.0.0"]);
    let error = fixture.snapshot(&version("v2.0.0")).unwrap_err().to_string();
    assert_eq!(
        error,
        "`github.com/team/tools` has no tag, branch or commit `v2.0.0`; it has: v1.0.0, main"
    );
    for absent in ["abcdef1", "abcdefabcdefabcdefabcdefabcdefabcdefabcd"] {
        let error = fixture.snapshot(&GitRevision::Commit(absent.to_owned())).unwrap_err();
        assert!(matches!(error, GitError::NoSuchRevision { .. }), "{error}");
    }
    let git = GitClient { program: "no-such-git-here".into(), ..fixture.git.clone() };
    let error = git.snapshot(&fixture.repo, &GitRevision::Newest).unwrap_err();
    assert!(matches!(error, GitError::NoGit), "{error}");
    let away = RepoAddress::parse("http://127.0.0.1:9/x.git").unwrap();
    let error = fixture.git.snapshot(&away, &GitRevision::Newest).unwrap_err();
    assert!(matches!(error, GitError::Unreachable { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn modes_and_links_stay_and_nothing_of_the_repository_runs() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let fixture = Fixture::new();
    let work = fixture.work();
    fs::write(work.join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(work.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a.txt", work.join("link")).unwrap();
    fs::write(
        work.join(".gitattributes"),
        "*.txt filter=lfs ident eol=crlf\nrun.sh export-ignore\n",
    )
    .unwrap();
    fixture.commit("a.txt", "$Id$\n");
    let path = fixture.snapshot(&GitRevision::Newest).unwrap().path;
    assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "$Id$\n");
    assert_eq!(fs::read_link(path.join("link")).unwrap(), Path::new("a.txt"));
    let mode = fs::metadata(path.join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o100, 0o100);
}

#[test]
fn many_at_once_make_one_snapshot() {
    let fixture = Fixture::new();
    let commit = fixture.commit("a.txt", "one");
    let start = Barrier::new(6);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                start.wait();
                assert_eq!(fixture.snapshot(&GitRevision::Newest).unwrap().commit, commit);
            });
        }
    });
    assert_eq!(fs::read_dir(fixture.git.snapshots(&fixture.repo)).unwrap().count(), 1);
}

#[test]
fn what_a_killed_run_left_is_neither_used_nor_in_the_way() {
    let fixture = Fixture::new();
    let commit = fixture.commit("a.txt", "one");
    let left = fixture.git.folder(&fixture.repo).join("stage/killed");
    fs::create_dir_all(left.join("files")).unwrap();
    fs::create_dir_all(left.join("repository")).unwrap();
    fs::write(left.join("files/half"), "").unwrap();
    fs::write(left.join("repository/shallow.lock"), "").unwrap();
    let path = fixture.snapshot(&GitRevision::Commit(commit)).unwrap().path;
    assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "one");
    assert!(!left.exists());
}

#[cfg(unix)]
#[test]
fn a_git_that_hangs_is_ended_with_its_helpers() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let program = fixture.dir.path().join("slow-git");
    // The helper keeps the pipes open: only ending the whole group lets the run go on.
    fs::write(&program, "#!/bin/sh\nsleep 600 &\nwait\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let git = GitClient {
        program: program.into(),
        deadline: Duration::from_millis(300),
        ..fixture.git.clone()
    };
    let error = git.snapshot(&fixture.repo, &GitRevision::Newest).unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
}
