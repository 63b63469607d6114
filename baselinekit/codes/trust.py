"""BK4xx: allowed to nobody but the operator or the configuration."""

from baselinekit.codes import Code

CODES = {
    "BK401": Code(
        "a host that is not allowed",
        "`allow_hosts:` in the configuration or --allow-host lists where requests may go, and this one is\n"
        "not on the list. Allow it with --allow-host HOST, or add it to the list:\n\n"
        "    allow_hosts: [api.example.com, 127.0.0.1]",
    ),
    "BK402": Code(
        "a secret on its way to an origin that only a data file names",
        "A pull request may change a baseline file, so a file alone does not decide where a secret goes.\n"
        "Name the origin yourself: --base-url, --allow-host, a variable with the URL, `allow_hosts:`, or\n"
        "`hosts:` of the secret:\n\n"
        "    variables:\n"
        "      token: {from_env: API_TOKEN, secret: true, hosts: [api.example.com]}",
    ),
    "BK403": Code(
        "a program that the configuration does not name",
        "Baselines may run only what the configuration names. Give the program a name under `commands:` and\n"
        "use that name as argv[0], or pass --allow-exec when you trust the files:\n\n"
        "    commands:\n"
        "      mytool: [python, -P, -m, mytool]",
    ),
    "BK404": Code(
        "a path that leads out of the project",
        "A file may name only files inside the project folder (the folder of baselinekit.yaml, else the git\n"
        "root, else the working folder), and nothing below .git. Links count as what they lead to.",
    ),
    "BK405": Code(
        "a URL that does not say plainly where it leads",
        "A user before the host (http://good@other), a backslash, a blank or a control character makes two\n"
        "programs read two hosts out of one URL. Write it plainly, and put credentials under `auth:`:\n\n"
        "    url: https://api.example.com/users\n"
        '    auth: {type: bearer, token: "{{token}}"}',
    ),
    "BK406": Code(
        "generated code without a sandbox",
        "What a model wrote is run behind walls, or not at all unless you say so: bubblewrap is not installed\n"
        "here, or the system forbids it.\n\n"
        "    apt install bubblewrap          # or dnf, apk, pacman\n"
        "    docker run --security-opt seccomp=unconfined …   # where a container forbids namespaces\n\n"
        "With --allow-exec it runs beside your files instead: its time, its memory and its output are limited, and\n"
        "on Linux (x86_64, aarch64) it opens no connection, starts no program and signals nobody. But it may read\n"
        "and write what you may, and the report says so.",
    ),
    "BK407": Code(
        "an address that the configuration has to name",
        "Where a host leads is judged by the address that is connected to, however it is spelled and whatever\n"
        "name leads there, after a redirect too. Link-local addresses and those where clouds hand out metadata\n"
        "(169.254.0.0/16, fe80::/10, fd00:ec2::/32 …) are asked only where the configuration names the address\n"
        "itself. In CI an address of a private network (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10,\n"
        "fc00::/7) that only a data file names has to be named as well; this machine and public addresses are\n"
        "free, and at a desk private ones too. Any of these names a host:\n\n"
        "    base_url: http://10.0.0.5:8080                     # or below `environments:`\n"
        "    variables: {orders_url: 'http://orders.internal'}  # for `base_url: \"{{orders_url}}\"` in a file\n"
        "    allow_hosts: [10.0.0.5]                            # then nothing else is asked\n\n"
        "`baselinekit capture … --allow` writes it for you.",
    ),
    "BK408": Code(
        "more than a data file may ask for",
        "A file may lower the limits of its requests and programs, and raise them up to what the configuration\n"
        "grants: a `timeout` of 300 seconds, a `max_body` of 10 MB, 10 `retries` and 20 `redirects`, or what it\n"
        "gives every request under `http:` where that is more. `limits:` states others:\n\n"
        "    limits: {timeout: 900, max_body: 50000000}\n\n"
        "`verify: false`, with which anybody may answer in the place of a server, is for the configuration alone,\n"
        "and so is a certificate authority of your own for an address that the configuration or the command line\n"
        "names. A file may name one for an address that nobody else names.\n\n"
        "    http: {verify: certs/our-ca.pem}",
    ),
}
