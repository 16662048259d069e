// Why paths of a source are not indexed, in words.

export const REASONS: Record<string, string> = {
  unreadable: "cannot be read: permissions, or the device", too_large: "larger than the source's max_file_size", binary: "not text", empty: "empty",
  not_a_regular_file: "sockets, pipes and devices", symlink: "links to what is indexed in its own place", symlink_out_of_root: "links out of the folder",
  symlink_loop: "links to themselves", symlink_broken: "links to nothing", pseudo_filesystem: "folders of the system, such as /proc",
  hidden_by_gitignore: "folders whose own .gitignore hides all in them", hidden: "hidden (a dot before the name), and not tracked by git",
  secret: "secret by their name: keys, passwords", vanished: "gone while they were read", encrypted: "protected by a password",
  damaged: "damaged, or not what their name says", unpacks_to_too_much: "unpack to too much", too_slow: "took too long to read",
  no_note: "kept by a notes program beside the notes", no_resources: "not read yet: the machine lacked memory or files",
  parser_failed: "the program that reads them broke off", redirect: "pages that only lead on to others",
  submodule: "commits of other repositories, which can be sources of their own", lfs_pointer: "kept outside of the repository (Git LFS)",
};
