import { key } from '@plinth/kernel'
import { usualIpv6Prefix } from './caller/address-set.ts'
import { clientHeaders } from './caller/client-ip.ts'
import { contextPathPattern } from './caller/forwarding.ts'

/** Addresses in local networks: loopback, private, link-local and IPv6 unique-local. */
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

/**
 * With the minimum values an operator can still sign in with a browser (six connections, each with a request) and
 * repair the configuration while probes and metrics are read.
 */
export const keys = {
  'platform.http.host': key.host({
    title: { en: 'Address to listen on', 'zh-CN': '监听地址' },
    description: {
      en: 'The default answers this machine alone, because a fresh product has no administrator yet. Use 0.0.0.0 in a container or behind a proxy on another machine.',
      'zh-CN': '默认只响应本机，因为新装的产品尚无管理员。在容器中，或代理位于其他机器时，请使用 0.0.0.0。',
    },
    default: '127.0.0.1',
    scope: 'process',
  }),
  'platform.http.port': key.port({
    title: { en: 'Port', 'zh-CN': '端口' },
    description: { en: '0 lets the system choose.', 'zh-CN': '填 0 由系统分配。' },
    default: 3000,
    minimum: 0,
    scope: 'process',
  }),
  'platform.http.context-path': key.string({
    title: { en: 'Context path', 'zh-CN': '上下文路径' },
    description: {
      en: 'Path below which a proxy shows the product, for example /shop; empty for none. Requests may come with it or without. A trusted proxy may say it itself, in X-Forwarded-Prefix.',
      'zh-CN':
        '代理对外提供本产品的路径前缀，例如 /shop；留空表示没有。请求可带或不带此前缀。可信代理也可通过 X-Forwarded-Prefix 告知。',
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
      en: 'Port for health and metrics of a process that only works in the background. Without it such a process does not listen.',
      'zh-CN': '仅运行后台任务的进程提供健康检查和指标的端口；不设置则不监听。',
    },
    minimum: 0,
    scope: 'process',
  }),
  'platform.http.body-limit': key.bytes({
    title: { en: 'Largest request body', 'zh-CN': '请求体上限' },
    default: '1MiB',
    minimum: '64KiB',
    maximum: '1GiB',
  }),
  'platform.http.request-timeout': key.duration({
    title: { en: 'Request timeout', 'zh-CN': '请求接收期限' },
    description: {
      en: 'How long a caller may take to send a whole request.',
      'zh-CN': '调用方发送完整请求所允许的最长时间。',
    },
    default: '30s',
    minimum: '1s',
  }),
  'platform.http.send-timeout': key.duration({
    title: { en: 'Send timeout', 'zh-CN': '发送期限' },
    description: {
      en: 'How long a caller may take none of its answer before the connection is closed. Each byte that it takes starts the time anew.',
      'zh-CN': '调用方不接收响应数据的最长时间，超时则关闭连接；每接收一个字节重新计时。',
    },
    default: '1m',
    minimum: '1s',
  }),
  'platform.http.max-connections': key.integer({
    title: { en: 'Connections at a time', 'zh-CN': '最大连接数' },
    description: {
      en: 'Open connections of one process; what comes beyond is closed at once.',
      'zh-CN': '单个进程同时打开的连接数；超出的连接立即关闭。',
    },
    default: 10_000,
    minimum: 16,
    maximum: 1_000_000,
  }),
  'platform.http.overload.max-requests': key.integer({
    title: { en: 'Requests in work at a time', 'zh-CN': '同时处理的请求数' },
    description: {
      en: 'Requests of one process that are worked on at a time; what comes beyond waits. Probes and metrics are always answered.',
      'zh-CN': '单个进程同时处理的请求数；超出的请求排队等待。探针和指标始终响应。',
    },
    default: 100,
    minimum: 1,
    maximum: 100_000,
  }),
  'platform.http.overload.max-waiting': key.integer({
    title: { en: 'Requests that may wait', 'zh-CN': '可排队的请求数' },
    description: {
      en: 'Requests that may wait for their turn, at most; what comes beyond is refused at once with 503 and Retry-After.',
      'zh-CN': '最多可排队等待的请求数；超出的请求立即以 503 和 Retry-After 拒绝。',
    },
    default: 1_000,
    minimum: 8,
    maximum: 1_000_000,
  }),
  'platform.http.overload.max-wait': key.duration({
    title: { en: 'Longest wait for a turn', 'zh-CN': '最长排队时间' },
    description: {
      en: 'A request that would wait longer before it is begun is refused with 503 and Retry-After, at once where the pace of the others tells so. Time in which new connections are accepted first does not count: a second at most.',
      'zh-CN':
        '请求在开始处理前的等待将超过此时间时，以 503 和 Retry-After 拒绝；若按当前处理速度可以预见，则立即拒绝。优先接受新连接的时间（最多一秒）不计入。',
    },
    default: '500ms',
    minimum: '100ms',
  }),
  'platform.http.drain-delay': key.duration({
    title: { en: 'Drain delay', 'zh-CN': '排空延迟' },
    description: {
      en: 'How long the server goes on accepting connections after readiness has turned to 503, so that a load balancer can notice. At most two seconds less than platform.kernel.drain-deadline, or half of that.',
      'zh-CN':
        '就绪检查返回 503 后继续接受连接的时间，以便负载均衡器察觉。最多比 platform.kernel.drain-deadline 少两秒，或为其一半。',
    },
    default: '0s',
    maximum: '10m',
  }),
  'platform.http.readiness-deadline': key.duration({
    title: { en: 'Readiness deadline', 'zh-CN': '就绪检查期限' },
    description: {
      en: 'How long one health check may take before it counts as failed.',
      'zh-CN': '单项健康检查的最长时间，超时视为失败。',
    },
    default: '2s',
    minimum: '500ms',
  }),
  'platform.http.access-log': key.boolean({
    title: { en: 'Access log', 'zh-CN': '访问日志' },
    description: {
      en: 'One log line for each request. Failures are logged without it.',
      'zh-CN': '每个请求记录一行日志；失败无论如何都会记录。',
    },
    default: false,
    reload: 'live',
  }),
  'platform.http.response-check': key.boolean({
    title: { en: 'Response check', 'zh-CN': '响应检查' },
    description: {
      en: 'For tests and development: a response that holds what its schema does not declare fails instead of losing it silently, and all schemas are compiled at start.',
      'zh-CN': '用于测试和开发：响应包含其结构未声明的内容时报错，而不是静默丢弃；所有结构在启动时编译。',
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
        en: 'Anybody can read the description of all operations. Switch it off unless your API is public.',
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
    title: { en: 'Clients that may read metrics', 'zh-CN': '可读取指标的客户端' },
    description: {
      en: 'Addresses and CIDR ranges; to everybody else /metrics does not exist.',
      'zh-CN': '地址和 CIDR 网段；对其他客户端而言 /metrics 不存在。',
    },
    default: [...ownNetworks],
  }),
  'platform.rate-limit.annotation.client-ip.trusted-proxies': key.cidrList({
    title: { en: 'Trusted proxies', 'zh-CN': '可信代理' },
    description: {
      en: 'Proxies whose headers are believed about the address of the client.',
      'zh-CN': '可采信其所报客户端地址的代理。',
    },
    default: [...ownNetworks],
  }),
  'platform.rate-limit.annotation.client-ip.trust-forwarded-headers': key.boolean({
    title: { en: 'Trust proxy headers', 'zh-CN': '信任代理请求头' },
    description: {
      en: 'When false, X-Forwarded-For, CF-Connecting-IP and X-Real-IP are ignored entirely.',
      'zh-CN': '关闭后完全忽略 X-Forwarded-For、CF-Connecting-IP 和 X-Real-IP。',
    },
    default: true,
  }),
  'platform.rate-limit.annotation.client-ip.headers': key.stringList({
    title: { en: 'Headers that name the client', 'zh-CN': '标识客户端的请求头' },
    description: {
      en: 'Headers of trusted proxies that are believed about the address of the client, asked in this order. Name only the one that your proxy sets: most proxies pass the others on as the client sent them.',
      'zh-CN':
        '可信代理的请求头中，用于确定客户端地址的请求头，按此顺序读取。请只填写您的代理实际设置的那一个：其余请求头多数代理会原样转发客户端发来的内容。',
    },
    default: [...clientHeaders],
    items: { enum: clientHeaders },
    uniqueItems: true,
  }),
  'platform.rate-limit.annotation.client-ip.ipv6-prefix': key.integer({
    title: { en: 'IPv6 prefix', 'zh-CN': 'IPv6 前缀长度' },
    description: {
      en: 'Leading bits of an IPv6 address that make one caller: a usual connection has a network of 64 bits, and every address in it. 128: every address is a caller of its own.',
      'zh-CN':
        'IPv6 地址中用于识别调用方的前缀位数：普通接入通常拥有一个 64 位网段及其中全部地址。128 表示每个地址单独计数。',
    },
    default: usualIpv6Prefix,
    minimum: 16,
    maximum: 128,
  }),
}
