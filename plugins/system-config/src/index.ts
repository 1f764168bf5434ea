export * from './contract.ts'
export { default } from './plugin.ts'
export { PluginKey, type PluginKeyParts } from './plugin-key.ts'
export { SealedBox } from './sealed-box.ts'
