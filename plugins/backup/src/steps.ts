interface Step {
  readonly text: { readonly en: string; readonly 'zh-CN': string }
  /** Part of a backup that is done when the step begins, as a percentage. An estimate. */
  readonly percent: number
}

const step = (percent: number, en: string, zh: string): Step => ({ text: { en, 'zh-CN': zh }, percent })

/** The steps of a backup in their order. The command prints the English texts. */
export const steps = {
  dump: step(5, 'Copying the database', '正在复制数据库'),
  read: step(10, 'Reading', '正在读取数据'),
  files: step(30, 'Copying the files', '正在复制文件'),
  scratch: step(50, 'Creating a scratch database from the copy', '正在用副本创建临时数据库'),
  examine: step(75, 'Checking the product on the scratch database', '正在临时数据库上检查产品'),
  readBack: step(90, 'Checking the stored bytes', '正在检查已存储的字节'),
} as const

/** Finds the step of a line of progress. */
export const stepOf = (line: string): Step | undefined =>
  Object.values(steps).find(({ text }) => line.startsWith(text.en))
