export * from './contract.ts'
export { type AdministratorForm, administratorForm, type InstallForm, installForm } from './form/fields.ts'
export { default } from './plugin.ts'
