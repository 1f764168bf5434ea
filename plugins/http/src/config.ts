import { guardsPermission, key } from '@plinth/kernel'
import { usualIpv6Prefix } from './caller/address-set.ts'
import { clientHeaders } from './caller/client-ip.ts'
import { contextPathPattern } from './caller/forwarding.ts'

const ownNetworks = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  '::1/128',
  'fe80::/10',
  'fc00::/7',
] as const

/** The minimum values still let an operator sign in with a browser (six connections) and correct the configuration. */
export const keys = {
  'platform.http.host': key.host({
    title: { en: 'Listen address', 'zh-CN': '监听地址' },
    description: {
      en: 'The default only accepts connections from the same host, because a new product has no administrator. Use 0.0.0.0 in a container or behind a proxy on another host.',
      'zh-CN': '默认只接受本机连接，因为新装的产品尚无管理员。在容器中，或代理位于其他主机时，请使用 0.0.0.0。',
    },
    default: '127.0.0.1',
    scope: 'process',
  }),
  'platform.http.port': key.port({
    title: { en: 'Port', 'zh-CN': '端口' },
    description: { en: '0: the system selects a free port.', 'zh-CN': '填 0 时由系统分配空闲端口。' },
    default: 3000,
    minimum: 0,
    scope: 'process',
  }),
  'platform.http.context-path': key.string({
    title: { en: 'Context path', 'zh-CN': '上下文路径' },
    description: {
      en: 'Path at which a proxy serves the product, for example /shop. Empty: no path. Requests with and without the path are accepted. A trusted proxy can also send the path in X-Forwarded-Prefix.',
      'zh-CN':
        '代理对外提供本产品的路径前缀，例如 /shop；留空表示没有。请求可带或不带此前缀。可信代理也可通过 X-Forwarded-Prefix 发送此路径。',
    },
    default: '',
    pattern: contextPathPattern,
    rule: {
      en: 'be empty or a path such as /shop: it starts with "/", does not end with it, and has letters, digits, "-", "_", "~" and "."',
      'zh-CN': '为空，或是 /shop 这样的路径：以“/”开头、不以其结尾，由字母、数字和“-”“_”“~”“.”组成',
    },
  }),
  'platform.http.worker-port': key.port({
    title: { en: 'Worker port', 'zh-CN': '工作进程端口' },
    description: {
      en: 'Port for health checks and metrics of a process with only the role worker. Empty: such a process does not listen.',
      'zh-CN': '仅有 worker 角色的进程提供健康检查和指标的端口；留空则不监听。',
    },
    minimum: 0,
    scope: 'process',
  }),
  'platform.http.body-limit': key.bytes({
    title: { en: 'Maximum request body size', 'zh-CN': '请求体上限' },
    default: '1MiB',
    minimum: '64KiB',
    maximum: '1GiB',
  }),
  'platform.http.request-timeout': key.duration({
    title: { en: 'Request timeout', 'zh-CN': '请求接收超时时间' },
    description: {
      en: 'Maximum time for a caller to send a complete request.',
      'zh-CN': '调用方发送完整请求所允许的最长时间。',
    },
    default: '30s',
    minimum: '1s',
  }),
  'platform.http.send-timeout': key.duration({
    title: { en: 'Send timeout', 'zh-CN': '响应发送超时时间' },
    description: {
      en: 'If a caller does not receive any byte of a response for this time, the connection is closed.',
      'zh-CN': '调用方在此时间内未接收任何响应数据时，关闭连接。',
    },
    default: '1m',
    minimum: '1s',
  }),
  'platform.http.max-connections': key.integer({
    title: { en: 'Maximum connections', 'zh-CN': '最大连接数' },
    description: {
      en: 'Open connections of one process. Further connections are closed immediately.',
      'zh-CN': '单个进程同时打开的连接数；超出的连接立即关闭。',
    },
    default: 10_000,
    minimum: 16,
    maximum: 1_000_000,
  }),
  'platform.http.overload.max-requests': key.integer({
    title: { en: 'Maximum concurrent requests', 'zh-CN': '最大并发请求数' },
    description: {
      en: 'Requests that one process handles at the same time. Further requests wait. Probes and metrics always get a response.',
      'zh-CN': '单个进程同时处理的请求数；超出的请求排队等待。探针和指标始终响应。',
    },
    default: 100,
    minimum: 1,
    maximum: 100_000,
  }),
  'platform.http.overload.max-waiting': key.integer({
    title: { en: 'Maximum waiting requests', 'zh-CN': '最大排队请求数' },
    description: {
      en: 'Further requests are rejected immediately with 503 and Retry-After.',
      'zh-CN': '超出的请求立即以 503 和 Retry-After 拒绝。',
    },
    default: 1_000,
    minimum: 8,
    maximum: 1_000_000,
  }),
  'platform.http.overload.max-wait': key.duration({
    title: { en: 'Maximum wait of a request', 'zh-CN': '最长排队时间' },
    description: {
      en: 'A request that would wait longer is rejected with 503 and Retry-After. It is rejected immediately if the current pace already predicts this. The time in which new connections are accepted first, at most one second, is not included.',
      'zh-CN':
        '等待将超过此时间的请求以 503 和 Retry-After 拒绝；若按当前处理速度可以预见，则立即拒绝。优先接受新连接的时间（最多一秒）不计入。',
    },
    default: '500ms',
    minimum: '100ms',
  }),
  'platform.http.drain-delay': key.duration({
    title: { en: 'Drain delay', 'zh-CN': '排空延迟' },
    description: {
      en: 'After readiness turns to 503, the server accepts connections for this time, so that a load balancer can notice. Limited to platform.kernel.drain-deadline minus two seconds. If that deadline is below four seconds, limited to half of it.',
      'zh-CN':
        '就绪检查返回 503 后继续接受连接的时间，以便负载均衡器察觉。上限为 platform.kernel.drain-deadline 减两秒；该期限不足四秒时，上限为其一半。',
    },
    default: '0s',
    maximum: '10m',
  }),
  'platform.http.readiness-deadline': key.duration({
    title: { en: 'Health check timeout', 'zh-CN': '健康检查超时时间' },
    description: {
      en: 'A health check that takes longer has failed.',
      'zh-CN': '超过此时间的健康检查视为失败。',
    },
    default: '2s',
    minimum: '500ms',
  }),
  'platform.http.access-log': key.boolean({
    title: { en: 'Access log', 'zh-CN': '访问日志' },
    description: {
      en: 'Writes one log line for each request. Errors are always logged.',
      'zh-CN': '每个请求记录一行日志；错误始终会记录。',
    },
    default: false,
    reload: 'live',
  }),
  'platform.http.compression.enabled': key.boolean({
    title: { en: 'Response compression', 'zh-CN': '响应压缩' },
    description: {
      en: 'Compresses responses of more than 1 KiB with Zstandard, Brotli or gzip for callers that accept it. Responses with secrets are never compressed. Turn it off if a proxy compresses.',
      'zh-CN':
        '对接受压缩的调用方，用 Zstandard、Brotli 或 gzip 压缩超过 1 KiB 的响应；含密钥的响应从不压缩。若由代理压缩，请关闭。',
    },
    default: true,
    reload: 'live',
  }),
  'platform.http.response-check': key.boolean({
    title: { en: 'Response check', 'zh-CN': '响应检查' },
    description: {
      en: 'For tests and development. A response with members that its schema does not declare fails. Otherwise these members are removed silently. All schemas are compiled at the start.',
      'zh-CN': '用于测试和开发。响应包含其结构未声明的成员时报错；关闭时静默移除这些成员。所有结构在启动时编译。',
    },
    default: false,
  }),
  'platform.http.docs.enabled': key.boolean({
    title: { en: 'API reference', 'zh-CN': '接口文档' },
    description: {
      en: 'Serves the API description at /docs/openapi.json and a browsable reference at /docs/.',
      'zh-CN': '在 /docs/openapi.json 提供接口描述，在 /docs/ 提供可浏览的文档。',
    },
    default: true,
    insecure: {
      is: true,
      reason: {
        en: 'Anyone can read the description of all operations. Turn it off unless your API is public.',
        'zh-CN': '任何人都能读取全部接口的描述。除非接口对外公开，否则请关闭。',
      },
    },
  }),
  'platform.http.metrics.enabled': key.boolean({
    title: { en: 'Metrics', 'zh-CN': '指标' },
    description: { en: 'Measures requests and serves /metrics.', 'zh-CN': '统计请求并提供 /metrics。' },
    default: true,
  }),
  'platform.http.metrics.allowed-clients': key.cidrList({
    title: { en: 'Clients allowed to read metrics', 'zh-CN': '可读取指标的客户端' },
    description: {
      en: 'Addresses and CIDR ranges. For all other clients, /metrics does not exist.',
      'zh-CN': '地址和 CIDR 网段；对其他客户端而言 /metrics 不存在。',
    },
    default: [...ownNetworks],
    permission: guardsPermission,
  }),
  'platform.rate-limit.annotation.client-ip.trusted-proxies': key.cidrList({
    title: { en: 'Trusted proxies', 'zh-CN': '可信代理' },
    description: {
      en: 'Addresses and CIDR ranges of the proxies whose headers determine the address of the client.',
      'zh-CN': '代理的地址和 CIDR 网段；由其请求头确定客户端地址。',
    },
    default: [...ownNetworks],
    permission: guardsPermission,
  }),
  'platform.rate-limit.annotation.client-ip.trust-forwarded-headers': key.boolean({
    title: { en: 'Trust proxy headers', 'zh-CN': '信任代理请求头' },
    description: {
      en: 'Off: X-Forwarded-For, CF-Connecting-IP and X-Real-IP are ignored.',
      'zh-CN': '关闭后完全忽略 X-Forwarded-For、CF-Connecting-IP 和 X-Real-IP。',
    },
    default: true,
    permission: guardsPermission,
  }),
  'platform.rate-limit.annotation.client-ip.headers': key.stringList({
    title: { en: 'Headers with the client address', 'zh-CN': '包含客户端地址的请求头' },
    description: {
      en: 'Headers of trusted proxies that contain the address of the client, in this order. List only the header that your proxy sets. Most proxies forward the other headers unchanged from the client.',
      'zh-CN':
        '可信代理用于传递客户端地址的请求头，按此顺序读取。请只填写您的代理实际设置的那一个：其余请求头多数代理会原样转发客户端发来的内容。',
    },
    default: [...clientHeaders],
    items: { enum: clientHeaders },
    uniqueItems: true,
    permission: guardsPermission,
  }),
  'platform.rate-limit.annotation.client-ip.ipv6-prefix': key.integer({
    title: { en: 'IPv6 prefix', 'zh-CN': 'IPv6 前缀长度' },
    description: {
      en: 'Number of leading bits of an IPv6 address that identify a caller. A usual connection has a 64-bit network and can use all its addresses. 128: each address is a separate caller.',
      'zh-CN':
        'IPv6 地址中用于识别调用方的前缀位数：普通接入通常拥有一个 64 位网段及其中全部地址。128 表示每个地址单独计数。',
    },
    default: usualIpv6Prefix,
    minimum: 16,
    maximum: 128,
    permission: guardsPermission,
  }),
}
