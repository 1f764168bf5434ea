/**
 * An example of each command, for the page about the command line. `test/cli-page.proof.ts` runs the examples on a
 * product with the plugins of the quickstart.
 */
export const cliExamples: Readonly<Record<string, string>> = {
  'plinth start': 'npx plinth start --set platform.http.port=8080',
  'plinth dev': 'npx plinth dev --host 127.0.0.1',
  'plinth config list': 'npx plinth config list --modified',
  'plinth config get': 'npx plinth config get platform.http.port',
  'plinth config explain': 'npx plinth config explain platform.http.port',
  'plinth config set': 'npx plinth config set platform.iam.audit.retention 90d --reason "less data"',
  'plinth config reset': 'npx plinth config reset platform.iam.audit.retention --dry-run',
  'plinth config export': 'npx plinth config export --file values.json',
  'plinth config import': 'npx plinth config import values.json --dry-run',
  'plinth config rollback': 'npx plinth config rollback 1 --reason "back to the first version"',
  'plinth config reseal': 'npx plinth config reseal',
  'plinth config history': 'npx plinth config history --key platform.iam.audit.retention --limit 5',
  'plinth plugins list': 'npx plinth plugins list --role worker',
  'plinth plugins graph': 'npx plinth plugins graph',
  'plinth plugins why': 'npx plinth plugins why notification',
  'plinth plugins lock': 'npx plinth plugins lock',
  'plinth plugins diff': 'npx plinth plugins diff',
  'plinth plugins verify': 'npx plinth plugins verify plugins/notes',
  'plinth plugins remove': 'npx plinth plugins remove quickstart-cleanup --dry-run',
  'plinth upgrade': 'npx plinth upgrade --dry-run',
  'plinth doctor': 'npx plinth doctor',
  'plinth create product': 'npx plinth create product my-shop --preset minimal',
  'plinth create plugin': 'npx plinth create plugin notes',
  'plinth create deploy': 'npx plinth create deploy',
  'plinth create channel': 'npx plinth create channel acme-chat',
  'plinth create provider': 'npx plinth create provider acme-hook',
  'plinth create store': 'npx plinth create store acme-store',
  'plinth create install-task': 'npx plinth create install-task acme-check',
  'plinth create page': 'npx plinth create page acme-items --folder plugins/items',
  'plinth completion': 'source <(npx plinth completion bash)',
  'plinth routes': 'npx plinth routes GET /api/v1/notifications/send-metadata',
  'plinth openapi': 'npx plinth openapi --client client',
  'plinth migrate': 'npx plinth migrate --status',
  'plinth migrate draft': 'npx plinth migrate draft',
  'plinth migrate back': 'npx plinth migrate back shop/0002-add-note',
  'plinth database move': 'npx plinth database move --to sqlite:data/moved.sqlite --dry-run',
  'plinth database confirm-clock': 'npx plinth database confirm-clock',
  'plinth admin recover': 'npx plinth admin recover --username ann --password-stdin < password.txt',
  'plinth admin create': 'npx plinth admin create --username root --password-stdin < password.txt',
  'plinth permissions': 'npx plinth permissions',
  'plinth users export': 'npx plinth users export 4711 --file user.json',
  'plinth users erase': 'npx plinth users erase 4711 --dry-run',
  'plinth secrets rotate': 'npx plinth secrets rotate',
  'plinth install': 'npx plinth install --answers answers.yaml',
  'plinth money reconcile': 'npx plinth money reconcile',
  'plinth storage copy': 'npx plinth storage copy',
}

/** Examples that `test/cli-page.proof.ts` does not run, each with the reason. */
export const commandsNotRun: Readonly<Record<string, string>> = {
  'plinth migrate back':
    'needs a change set of `plinth dev`; `plugins/database/test/way-back.test.ts` runs the command',
  'plinth plugins verify': 'needs minutes; `test/verify/verify.proof.ts` runs the command on other plugins',
}
