import { join } from 'node:path'
import { Application, Converter, PageEvent, ReflectionKind } from 'typedoc'

const root = join(import.meta.dirname, '..', '..')

/** Modules that authors of plugins import, with the source of each. The name is that of its page. */
export const apiModules: Readonly<Record<string, string>> = {
  kernel: 'kernel/src/index.ts',
  'kernel/host': 'kernel/src/host.ts',
  'dev/testing': 'dev/src/testing/index.ts',
  'dev/conformance': 'dev/src/conformance/index.ts',
  'dev/testing/database': 'dev/src/testing/database/index.ts',
  'dev/testing/http': 'dev/src/testing/http.ts',
  'config-schema': 'config-schema/src/index.ts',
  migrations: 'migrations/src/index.ts',
  admin: 'plugins/admin/src/index.ts',
  approval: 'plugins/approval/src/index.ts',
  'async-task': 'plugins/async-task/src/index.ts',
  coordination: 'plugins/coordination/src/index.ts',
  database: 'plugins/database/src/index.ts',
  events: 'plugins/events/src/index.ts',
  http: 'plugins/http/src/index.ts',
  i18n: 'plugins/i18n/src/index.ts',
  iam: 'plugins/iam/src/index.ts',
  'iam/recovery': 'plugins/iam/src/recovery/plugin.ts',
  'iam/verification': 'plugins/iam/src/verification/plugin.ts',
  idempotency: 'plugins/idempotency/src/index.ts',
  inbox: 'plugins/inbox/src/index.ts',
  mail: 'plugins/mail/src/index.ts',
  'member-points': 'plugins/member-points/src/index.ts',
  money: 'plugins/money/src/index.ts',
  'money/payments': 'plugins/money/src/payments/index.ts',
  notification: 'plugins/notification/src/index.ts',
  'outgoing-http': 'plugins/outgoing-http/src/index.ts',
  'rate-limit': 'plugins/rate-limit/src/index.ts',
  resource: 'plugins/resource/src/index.ts',
  scheduler: 'plugins/scheduler/src/index.ts',
  'shared-store': 'plugins/shared-store/src/index.ts',
  site: 'plugins/site/src/index.ts',
  sms: 'plugins/sms/src/index.ts',
  storage: 'plugins/storage/src/index.ts',
  'system-config': 'plugins/system-config/src/index.ts',
  table: 'plugins/table/src/index.ts',
  template: 'plugins/template/src/index.ts',
  web3: 'plugins/web3/src/index.ts',
}

/** Writes one page for each module to `docs/reference/`, which is not part of the repository, from the exported types and their doc comments. */
export async function writeApiReference(): Promise<void> {
  // TypeDoc names a module after its file.
  const pages = new Map(Object.entries(apiModules).map(([page, file]) => [file.replace(/(?:\/index)?\.ts$/, ''), page]))
  const app = await Application.bootstrapWithPlugins({
    plugin: ['typedoc-plugin-markdown'],
    entryPoints: Object.values(apiModules).map((file) => join(root, file)),
    tsconfig: join(root, 'tsconfig.json'),
    basePath: root,
    out: join(root, 'docs/reference'),
    name: 'TypeScript API',
    readme: 'none',
    disableSources: true,
    excludeExternals: true,
    excludeInternal: true,
    logLevel: 'Error',
    // The compiler of the repository has already checked the types. It is newer than the compiler of TypeDoc.
    skipErrorChecking: true,
    ...markdownOptions,
  })
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.getChildrenByKind(ReflectionKind.Module)) {
      module.name = pages.get(module.name) ?? module.name
    }
    // Each plugin of this repository adds its operations to the interface `Operations`. The reference omits them.
    const operations = project
      .getReflectionsByKind(ReflectionKind.Property)
      .filter(({ parent }) => parent?.name === 'Operations')
    for (const operation of operations) project.removeReflection(operation)
  })
  // The site shows HTML of documents as text, so HTML anchors are removed.
  app.renderer.on(PageEvent.END, (page) => {
    page.contents = (page.contents ?? '').replaceAll(/<a id="[^"]*"><\/a> ?/g, '')
  })
  const project = await app.convert()
  if (project === undefined) throw new Error('TypeDoc cannot read the sources')
  await app.generateOutputs(project)
}

const markdownOptions = {
  entryFileName: 'index',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  outputFileStrategy: 'modules',
  pageTitleTemplates: { module: ({ name }: { readonly name: string }) => `@plinth/${name}` },
  useCodeBlocks: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  propertyMembersFormat: 'table',
  typeDeclarationFormat: 'table',
  tableColumnSettings: { hideSources: true, hideModifiers: true, hideInherited: true, hideOverrides: true },
}
