"""The part of holter that a Jupyter server loads: the provisioner becomes the default, and the front end gets answers.

Where this can't be loaded any more, as after `pip uninstall holter`, the server says so and starts kernels as ever.
"""

from typing import TYPE_CHECKING

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_server.utils import url_path_join

from holter.jupyter.provisioner import NAME

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp

ORDINARY = "local-provisioner"


def _load_jupyter_server_extension(server: "ServerApp") -> None:
    """Jupyter calls it by this name, before the first kernel."""
    from holter.jupyter.handlers import ROUTES

    _become_default(server)
    base = server.web_app.settings["base_url"]
    routes = [(url_path_join(base, path), handler) for path, handler in ROUTES]
    server.web_app.add_handlers(".*$", routes)  # type: ignore[no-untyped-call]  # tornado has no types for it


def _become_default(server: "ServerApp") -> None:
    """Take over the kernels that nobody has chosen another provisioner for."""
    factory = KernelProvisionerFactory.instance(parent=server)
    if factory.default_provisioner_name != ORDINARY:
        server.log.info(
            "holter: notebooks' kernels are started by %s, which is left as it is", factory.default_provisioner_name
        )
    elif NAME not in factory.provisioners:
        server.log.warning(
            "holter: notebooks' kernels are not recorded, because holter is only partly installed: reinstall it"
        )
    else:
        factory.default_provisioner_name = NAME
        server.log.info("holter: the ends of notebooks' kernels are recorded; `holter ls --kernels` shows them")
