"""What of a file or folder of this machine is withheld."""

from pathlib import Path

from eqty_lineage.deepagents.discretion.disk import File, Folder, withheld_below
from eqty_lineage.deepagents.discretion.globs import Policy
from eqty_lineage.deepagents.discretion.memory import Memory
from support.files import cid_of


def test_files_folders_links_and_copies(tmp_path: Path):
    memory = Memory(Policy(), cid_of)
    secret, other, link = tmp_path / "id_rsa", tmp_path / "a.txt", tmp_path / "link.txt"
    secret.write_text("a line of a private key\n")
    other.write_text("open\n")
    link.symlink_to(secret)
    assert withheld_below(other, memory, cid_of) is None
    assert withheld_below(secret, memory, cid_of) == File(cid_of(secret.read_bytes()))
    assert withheld_below(link, memory, cid_of) == File(cid_of(secret.read_bytes()))
    assert withheld_below(tmp_path, memory, cid_of) == Folder(tmp_path)
    assert withheld_below(tmp_path / "missing", memory, cid_of) is None
    assert withheld_below(secret, Memory(None, cid_of), cid_of) is None
    other.write_text("# a line of a private key")
    assert withheld_below(other, memory, cid_of) == File(cid_of(other.read_bytes()))


def test_a_folder_without_any(tmp_path: Path):
    memory = Memory(Policy(), cid_of)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.txt").write_text("open")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere.key")
    assert withheld_below(tmp_path, memory, cid_of) is None
